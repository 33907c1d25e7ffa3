"""Repairs that imitate a merged fix: rows, and rewards as the plan chooses."""

import json

import pytest

from model.domain import Issue
from tests.builders.models.foreign_tokenizer import build_tokenizer
from tests.builders.models.training_runs import build_plan
from training.datasets.merged_fixes import MergedFix
from training.rollouts.imitation_rollouts import build_imitation_rollouts, build_rows

FILES = {"a.py": "one\ntwo\nthree\n", "b.py": "four\n"}
FIX = MergedFix("octo/pie#1", Issue("Off", "It is off."), FILES, {"a.py": "one\nTWO\nthree\n"})
EDIT = "### a.py\n<<<<<<< SEARCH\ntwo\n=======\n{}\n>>>>>>> REPLACE\n"


def build(tmp_path, **rollout):
    return build_plan(
        "grpo",
        tmp_path,
        prompt={"template": "swe_rl_repair"},
        rollout={"task": "imitate", "prompts": 1, "replies": 4} | rollout,
        optimiser={"batch": 1},
    )


def reply(new):
    return f"<think>So.</think><solution>{EDIT.format(new)}</solution>"


@pytest.mark.parametrize(
    ("imitation", "rewards"),
    [("continuous", [1.0, 2 * 34 / (35 + 37), -1.0]), ("discrete", [1.0, 0.0, -1.0])],
)
def test_reward_is_the_one_of_the_plan(tmp_path, imitation, rewards):
    """`@@ -1,3 +1,3 @@`, ` one`, `-two`, `+x`, ` three`: 34 of its 35 characters are in the merged diff's 37."""
    plan, tokenizer = build(tmp_path, imitation=imitation), build_tokenizer()
    rows, left_out = build_rows(plan, [FIX], tokenizer)
    assert not left_out
    source = build_imitation_rollouts(plan, [rows[FIX.issue]], tokenizer)
    (row,) = source.rows
    assert json.loads(row["files"]) == FILES
    metrics = []
    computed = source.reward(
        [reply("TWO"), reply("x"), "TWO"],
        files=[row["files"]] * 3,
        merged=[row["merged"]] * 3,
        log_metric=lambda name, value: metrics.append((name, value)),
    )
    assert computed == pytest.approx(rewards, abs=1e-12)
    assert metrics == [("format_valid", 1.0), ("format_valid", 1.0), ("format_valid", 0.0)]


def test_fix_that_is_too_long_is_left_out_and_counted(tmp_path):
    plan = build_plan("grpo", tmp_path, prompt={"template": "swe_rl_repair", "max_tokens": 10})
    rows, left_out = build_rows(plan, [FIX], build_tokenizer())
    assert rows == {}
    assert left_out == {"a prompt of more than 10 tokens": 1}
