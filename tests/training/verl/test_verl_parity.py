"""An export read by verl's own data set, configuration and reward managers; its advantages and losses beside ours.

Needs verl, from `make verl`. All of it is asked of one process: verl takes seconds to import.
"""

import json
import math
import os
import random
import shutil
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from transformers import AutoTokenizer

from model.protocols import Message
from tests.builders.models import tiny_model
from tests.builders.models.policy_loss import average_loss, compute_token_loss
from tests.services import ROOT
from tests.training.verl.small_export import PLAN, dataset_at
from training.objective import policy_gradient, rewards
from training.plans.plan import LossAggregation
from training.rollouts import tokenization
from training.verl import export_folder

VERL = ROOT / ".venv-verl"
pytestmark = pytest.mark.skipif(
    not (VERL / ".installed").exists(), reason="no verl: run `make verl`"
)
REPLIES = [
    r"\boxed{1, 2, 3, 4}",
    r"\boxed{}",
    r"First \boxed{1}, or rather \boxed{2}",
    r"\boxed{5}",
    "no box",
]


def random_groups(draw):
    """Groups as rewards come: shares of four, binary, uncertain, all equal."""
    shares = [[draw.randrange(5) / 4 for _ in range(draw.choice((2, 4, 16)))] for _ in range(100)]
    binary = [[float(draw.random() < 0.3) for _ in range(8)] for _ in range(50)]
    uncertain = [[draw.random() for _ in range(16)] for _ in range(50)]
    return [*shares, *binary, *uncertain, [0.75] * 4, [0.1] * 8]


def random_loss(draw, count=24, longest=12):
    """Log-ratios far beyond every clip, replies of all lengths, one of which nothing counts."""
    lengths = [draw.randint(1, longest) for _ in range(count - 1)] + [0]
    return {
        "log_ratios": [[draw.gauss(0, 1.5) for _ in range(longest)] for _ in range(count)],
        "advantages": [draw.gauss(0, 1) for _ in range(count)],
        "kept": [[at < length for at in range(longest)] for length in lengths],
        "longest": longest,
    }


DRAW = random.Random(5)
CASES = {"replies": REPLIES, "groups": random_groups(DRAW), "losses": random_loss(DRAW)}


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    """The export's folder and the tokenizer's."""
    at = tmp_path_factory.mktemp("verl")
    model = tiny_model.write_random_model(at / "model")
    tokenizer = AutoTokenizer.from_pretrained(model)
    export_folder.write_export(PLAN, dataset_at(at / "dataset"), at / "it's an export", tokenizer)
    return at / "it's an export", model


@pytest.fixture(scope="module")
def answers(export, tmp_path_factory):
    """What verl's side answers."""
    home = tmp_path_factory.mktemp("home")
    done = subprocess.run(
        [str(VERL / "bin" / "python"), str(Path(__file__).with_name("verl_process.py")), *export],
        input=json.dumps(CASES),
        # a node has the code that Ray takes along, and no checkout beside it
        env={
            "PATH": os.defpath,
            "HOME": str(home),
            "PYTHONPATH": str(_copy_runtime(home)),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
        },
        cwd=home,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def _copy_runtime(home):
    """What the export's `runtime_env.json` names."""
    for name in ("model", "training"):
        shutil.copytree(
            ROOT / name, home / "code" / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    return home / "code"


def test_verl_holds_the_plans_settings(answers, export):
    assert answers["settings"] == {
        "prompts": 4,
        "replies": 4,
        "batch": 2,
        "clip": [0.2, 0.28, 10.0],
        "loss": "token-mean",
        "kl": False,
        "estimator": "grpo",
        "correction": None,
        "learning_rate": 1e-6,
        "warmup_rounds": 1,
        "seed": 0,
        "targets": list(PLAN.adapter.targets),
        "reward": str(export[0] / "reward.py"),
    }


def test_verl_asks_what_our_own_trainer_asks(answers, export):
    table = pq.read_table(export[0] / "train.parquet").to_pylist()
    assert answers["rows"]["count"] == 20
    assert answers["rows"]["keys"] == [row["extra_info"]["key"] for row in table]
    tokenizer = AutoTokenizer.from_pretrained(export[1])
    asked = [Message(one["role"], one["content"]) for one in table[0]["prompt"]]
    assert answers["rows"]["prompt"] == tokenization.render_prompt(tokenizer, asked)
    assert answers["rows"]["sources"] == ["r4p/benchmark"] * 2


def test_both_reward_managers_pay_what_ours_does(answers, export):
    row = pq.read_table(export[0] / "train.parquet").to_pylist()[0]
    truth = json.loads(row["reward_model"]["ground_truth"])
    ours = [rewards.reward_reply(text, truth["occupied"], truth["targets"]) for text in REPLIES]
    assert len(set(ours)) > 2
    assert answers["scores"] == {"naive": ours, "dapo": ours}


@pytest.mark.parametrize(
    ("name", "estimate"),
    [
        ("grpo", policy_gradient.normalise_by_group),
        ("without-deviation", policy_gradient.subtract_mean),
        ("leave-one-out", policy_gradient.subtract_leave_one_out),
    ],
)
def test_advantages_are_verls(answers, name, estimate):
    expected = [one for group in CASES["groups"] for one in estimate(group)]
    assert answers["advantages"][name] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("token-mean", LossAggregation.TOKEN_MEAN),
        ("seq-mean-token-mean", LossAggregation.SEQUENCE_MEAN),
        ("seq-mean-token-sum-norm", LossAggregation.CONSTANT_LENGTH),
    ],
)
def test_losses_are_verls(answers, name, how):
    case = CASES["losses"]
    losses = [
        [compute_token_loss(ratio, advantage, PLAN.policy) for ratio in row]
        for row, advantage in zip(case["log_ratios"], case["advantages"], strict=True)
    ]
    expected = average_loss(losses, case["kept"], how, case["longest"])
    assert answers["losses"][name] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_importance_is_cut_off_or_set_to_nothing_as_the_plan_says(answers, level):
    case = CASES["losses"]
    for at, (row, kept) in enumerate(zip(case["log_ratios"], case["kept"], strict=True)):
        total = sum(one for one, keep in zip(row, kept, strict=True) if keep)
        for seat, one in enumerate(row):
            if kept[seat]:
                ratio = math.exp(one if level == "token" else total)
                truncated = answers["weights"][f"{level}-truncate"][at][seat]
                masked = answers["weights"][f"{level}-mask"][at][seat]
                assert truncated == pytest.approx(min(ratio, 2.0), abs=1e-6)
                assert masked == pytest.approx(ratio if ratio <= 2 else 0.0, abs=1e-6)
