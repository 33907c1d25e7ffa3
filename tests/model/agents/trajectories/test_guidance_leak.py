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


def said(reply="Let's see.", arguments='{"entity": "half"}', answer="def half(n): ...", **values):
    call = ToolCall("a", "edit_tool", arguments)
    step = build_step(
        reply=Message("assistant", reply, (call,)),
        answers=(Message("tool", answer, tool_call_id="a"),),
    )
    return build_trajectory(**{"guidance": HINT, "steps": (step,)} | values)


def test_runs_are_five_words_or_a_whole_line():
    found = find_word_runs(HINT)
    assert " rounding has to wait until " in found
    assert " round in tax of " in found
    assert " return " not in found, "a single word is nobody's"
    assert not any("rates" in run for run in found), "a path is the tree's"
    assert drop_public_runs(found, ["Nothing of it"]) == found


@pytest.mark.parametrize(
    "trajectory",
    [
        said(reply=QUOTE),
        said(arguments=json.dumps({"new_str": f"# {QUOTE}"})),
        said(arguments=f'{{"new_str": "# {QUOTE}'),
        said(reply="I round in Tax.of now."),
        said(reply="⟦U+0072⟧ound in Tax.of"),
        said(reply="A maintainer said of it that it is late."),
        said(patch="+# Rounding has to wait until then\n"),
    ],
    ids=["reply", "call", "malformed call", "plan", "escaped", "who said so", "patch"],
)
def test_words_of_the_hint_are_found(trajectory):
    assert trajectory.quotes_hint
    assert trajectory.remove_guidance() is None


@pytest.mark.parametrize(
    "trajectory",
    [
        said(reply="Rounding waits until the last step, I think, so shop/tax/rates.py it is."),
        said(reply=QUOTE, guidance=None),
        said(reply=QUOTE, issue=Issue("Tax", "Rounding has to wait until the end")),
        said(answer=QUOTE, reply="I see."),
        said(patch="-# Rounding has to wait until then\n+# Rounding has to wait until now\n"),
    ],
    ids=["own words", "no hint", "in the issue", "in the tree", "in the patched file"],
)
def test_what_it_has_from_elsewhere_or_says_itself_is_no_quote(trajectory):
    assert not trajectory.quotes_hint
    assert trajectory.remove_guidance().guidance is None


def test_what_a_patch_adds_is_told_from_what_was_only_said():
    assert not said(reply=QUOTE).patch_quotes_hint
    assert said(patch="+# Rounding has to wait until then\n").patch_quotes_hint
    assert not said(guidance=None, patch=f"+{QUOTE}").patch_quotes_hint


def test_what_a_prompt_shows_beside_the_hint_is_no_quote():
    asked = build_step(
        prompt=(Message("user", f"In the file: {QUOTE}"),), reply=Message("assistant", QUOTE)
    )
    assert not build_trajectory(guidance=HINT, steps=(asked,)).quotes_hint


def test_an_attempt_is_named_by_what_was_recorded():
    assert len(compute_identity(build_trajectory())) == 64
    assert compute_identity(build_trajectory()) == compute_identity(build_trajectory())
    assert compute_identity(build_trajectory(seed=8)) != compute_identity(build_trajectory())
