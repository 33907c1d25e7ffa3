"""Pairs to learn from, and their file."""

from collections import Counter
from dataclasses import replace

import pytest

from model.agents.trajectories.guidance import HintSource
from tests.builders import guided_attempts as attempts
from tests.builders import tiny_model
from training.datasets import pairs
from training.datasets.pairs import (
    HELD_OUT,
    NO_BETTER,
    NO_CONVERSATION,
    NO_PARENT,
    OTHER_PROMPT,
    QUOTES_HINT,
    UNJUDGED,
    build_preferences,
    pair_guided_attempts,
)
from training.plans.plan import BadPlan


@pytest.fixture
def attempt_pair(tmp_path):
    return attempts.build_judged_pair(tmp_path / "tree")


def test_pair_prefers_the_guided_attempt_without_its_hint(attempt_pair):
    first, second = attempt_pair
    (pair,) = pair_guided_attempts(attempt_pair).pairs
    assert pair.issue == "octo/pie#1"
    assert pair.rejected == first.trajectory
    assert pair.chosen.guidance is None
    assert pair.chosen.opening == pair.rejected.opening
    assert "rounded" in second.trajectory.opening[1].content
    assert "n / 2" in pair.chosen.patch


def find_left_out_reason(attempt_pair, **options):
    paired = pair_guided_attempts(attempt_pair, **options)
    assert not paired.pairs
    ((reason, count),) = paired.left_out.items()
    assert count == 1
    return reason


def test_held_out_issue_makes_no_pair(attempt_pair):
    assert find_left_out_reason(attempt_pair, held_out={"octo/pie#1"}) == HELD_OUT


def test_unknown_parent_or_belief_makes_no_pair(attempt_pair):
    first, second = attempt_pair
    assert find_left_out_reason([second]) == NO_PARENT
    assert find_left_out_reason([first, replace(second, belief=None)]) == UNJUDGED
    assert find_left_out_reason([replace(first, belief=None), second]) == UNJUDGED


@pytest.mark.parametrize("beliefs", [(0.1, 0.4), (0.9, 0.9), (0.9, 0.6)])
def test_guided_attempt_that_is_no_better_makes_no_pair(attempt_pair, beliefs):
    judged = [replace(one, belief=of) for one, of in zip(attempt_pair, beliefs, strict=True)]
    assert find_left_out_reason(judged) == NO_BETTER


def test_maintainer_hint_needs_no_verdict_on_the_first(tmp_path):
    first, second = attempts.build_judged_pair(tmp_path / "tree", source=HintSource.MAINTAINER)
    assert pair_guided_attempts([replace(first, belief=None), second]).pairs


def test_attempt_that_quotes_its_hint_makes_no_pair(tmp_path):
    quoting = "n / 2  # the test of odd numbers fails: nothing may be rounded"
    assert (
        find_left_out_reason(attempts.build_judged_pair(tmp_path / "tree", better=quoting))
        == QUOTES_HINT
    )


def test_first_attempt_that_quotes_a_hint_makes_no_pair(tmp_path):
    quoting = "(n) / 2  # the test of odd numbers fails: nothing may be rounded"
    first, third = attempts.build_judged_pair(tmp_path / "tree", better=quoting)
    _, second = attempts.build_judged_pair(tmp_path / "tree")
    hint = replace(attempts.HINT, parent=third.identity)
    again = replace(second, trajectory=replace(second.trajectory, guidance=hint))
    paired = pair_guided_attempts([first, replace(third, belief=0.2), again])
    assert paired.left_out == Counter({NO_BETTER: 1, QUOTES_HINT: 1})


def test_pipeline_record_or_other_prompt_makes_no_pair(attempt_pair):
    first, second = attempt_pair
    piped = [replace(one, trajectory=replace(one.trajectory, opening=())) for one in attempt_pair]
    hint = replace(attempts.HINT, parent=piped[0].identity)
    piped[1] = replace(piped[1], trajectory=replace(piped[1].trajectory, guidance=hint))
    assert find_left_out_reason(piped) == NO_CONVERSATION
    fewer = replace(second, trajectory=replace(second.trajectory, tools=()))
    assert find_left_out_reason([first, fewer]) == OTHER_PROMPT


def test_attempts_survive_a_round_trip(attempt_pair, tmp_path):
    path = tmp_path / "deep" / "attempts.jsonl"
    unjudged = replace(attempt_pair[0], belief=None)
    assert pairs.write_attempts(path, [*attempt_pair, unjudged]) == 3
    assert pairs.read_attempts(path) == [*attempt_pair, unjudged]
    assert pairs.read_attempts(path)[1].identity == attempt_pair[1].identity


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1 is no attempt"),
        (
            '{"format": "r4p.attempt/9"}',
            r"is 'r4p.attempt/9', but this version reads r4p.attempt/1",
        ),
        ('{"format": "r4p.attempt/1", "belief": 1, "issue": "a", "trajectory": {}}', "no attempt"),
    ],
)
def test_invalid_attempts_file_is_refused_with_its_line(tmp_path, text, message):
    path = tmp_path / "attempts.jsonl"
    path.write_text(text)
    with pytest.raises(BadPlan, match=message):
        pairs.read_attempts(path)


def test_missing_attempts_file_is_named_with_its_command(tmp_path):
    with pytest.raises(BadPlan, match="r4p train attempts"):
        pairs.read_attempts(tmp_path / "none.jsonl")
    with pytest.raises(BadPlan, match="--material"):
        pairs.read_attempts(None)


def test_no_attempts_give_no_pairs():
    assert pairs.pair_guided_attempts([]) == pairs.GuidedPairs()


GROUP = replace(tiny_model.build_groups(1)[0], targets=(0.9, 0.1, None, 0.6))


def test_each_correct_patch_is_paired_with_each_incorrect_one():
    paired = build_preferences([GROUP])
    first, second, _, fourth = GROUP.patches
    assert [(one.better, one.worse) for one in paired] == [(first, second), (fourth, second)]
    assert [round(one.margin, 9) for one in paired] == [0.8, 0.5]
    assert {one.issue for one in paired} == {GROUP.issue}


def test_pair_of_several_groups_is_one_pair():
    assert len(build_preferences([GROUP, replace(GROUP, key="again")])) == 2


def test_padding_and_one_sided_groups_make_no_pair():
    padded = replace(GROUP, patches=(GROUP.patches[0], "", "", ""), targets=(1.0, 0.0, 0.0, None))
    assert build_preferences([padded, replace(GROUP, targets=(1.0,) * 4)]) == []
