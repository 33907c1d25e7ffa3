"""What an attempt repeats of its hint, and what it only has in common with it."""

import json

import pytest

from model.agents.trajectories.guidance import Guidance
from model.agents.trajectories.guidance_leak import drop_public_runs, find_word_runs
from model.agents.trajectories.trajectory_json import compute_identity
from model.domain import Issue
from model.protocols import Message, ToolCall
from tests.model.agents.builders import build_step, build_trajectory

HINT = Guidance(
    "Rounding has to wait until the very last step, see shop/tax/rates.py",
    plan="round in Tax.of\nreturn",
    locations=("shop/tax/rates.py",),
)
QUOTE = "so rounding has to\nWAIT until: the end"


def build_reply_trajectory(
    reply="Let's see.", arguments='{"entity": "half"}', answer="def half(n): ...", **values
):
    call = ToolCall("a", "edit_tool", arguments)
    step = build_step(
        reply=Message("assistant", reply, (call,)),
        answers=(Message("tool", answer, tool_call_id="a"),),
    )
    return build_trajectory(**{"guidance": HINT, "steps": (step,)} | values)


def test_word_runs_are_five_words_or_a_whole_line():
    runs = find_word_runs(HINT)
    assert " rounding has to wait until " in runs
    assert " round in tax of " in runs
    assert " return " not in runs, "a single word is nobody's"
    assert not any("rates" in run for run in runs), "a path is the tree's"
    assert drop_public_runs(runs, ["Nothing of it"]) == runs


@pytest.mark.parametrize(
    "trajectory",
    [
        build_reply_trajectory(reply=QUOTE),
        build_reply_trajectory(arguments=json.dumps({"new_str": f"# {QUOTE}"})),
        build_reply_trajectory(arguments=f'{{"new_str": "# {QUOTE}'),
        build_reply_trajectory(reply="I round in Tax.of now."),
        build_reply_trajectory(reply="⟦U+0072⟧ound in Tax.of"),
        build_reply_trajectory(reply="A maintainer said of it that it is late."),
        build_reply_trajectory(patch="+# Rounding has to wait until then\n"),
    ],
    ids=["reply", "call", "malformed call", "plan", "escaped", "who said so", "patch"],
)
def test_quoted_hint_is_detected(trajectory):
    assert trajectory.quotes_hint
    assert trajectory.remove_guidance() is None


@pytest.mark.parametrize(
    "trajectory",
    [
        build_reply_trajectory(
            reply="Rounding waits until the last step, I think, so shop/tax/rates.py it is."
        ),
        build_reply_trajectory(reply=QUOTE, guidance=None),
        build_reply_trajectory(
            reply=QUOTE, issue=Issue("Tax", "Rounding has to wait until the end")
        ),
        build_reply_trajectory(answer=QUOTE, reply="I see."),
        build_reply_trajectory(
            patch="-# Rounding has to wait until then\n+# Rounding has to wait until now\n"
        ),
    ],
    ids=["own words", "no hint", "in the issue", "in the tree", "in the patched file"],
)
def test_words_from_elsewhere_are_no_quote(trajectory):
    assert not trajectory.quotes_hint
    assert trajectory.remove_guidance().guidance is None


def test_patch_quotes_the_hint_only_in_its_added_lines():
    assert not build_reply_trajectory(reply=QUOTE).patch_quotes_hint
    assert build_reply_trajectory(patch="+# Rounding has to wait until then\n").patch_quotes_hint
    assert not build_reply_trajectory(guidance=None, patch=f"+{QUOTE}").patch_quotes_hint


def test_words_of_the_prompt_are_no_quote():
    asked = build_step(
        prompt=(Message("user", f"In the file: {QUOTE}"),), reply=Message("assistant", QUOTE)
    )
    assert not build_trajectory(guidance=HINT, steps=(asked,)).quotes_hint


def test_identity_depends_on_the_record():
    assert len(compute_identity(build_trajectory())) == 64
    assert compute_identity(build_trajectory()) == compute_identity(build_trajectory())
    assert compute_identity(build_trajectory(seed=8)) != compute_identity(build_trajectory())
