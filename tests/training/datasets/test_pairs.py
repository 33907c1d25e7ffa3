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
def both(tmp_path):
    return attempts.judged(tmp_path / "tree")


def test_a_pair_is_the_better_attempt_without_its_hint_and_the_first(both):
    first, second = both
    (pair,) = pair_guided_attempts(both).pairs
    assert pair.issue == "octo/pie#1"
    assert pair.rejected == first.trajectory
    assert pair.chosen.guidance is None
    assert pair.chosen.opening == pair.rejected.opening
    assert "rounded" in second.trajectory.opening[1].content
    assert "n / 2" in pair.chosen.patch


def why_not(both, **options):
    found = pair_guided_attempts(both, **options)
    assert not found.pairs
    ((reason, count),) = found.left_out.items()
    assert count == 1
    return reason


def test_an_issue_of_an_evaluation_is_never_learnt_from(both):
    assert why_not(both, held_out={"octo/pie#1"}) == HELD_OUT


def test_what_is_not_known_makes_no_pair(both):
    first, second = both
    assert why_not([second]) == NO_PARENT
    assert why_not([first, replace(second, belief=None)]) == UNJUDGED
    assert why_not([replace(first, belief=None), second]) == UNJUDGED


@pytest.mark.parametrize("beliefs", [(0.1, 0.4), (0.9, 0.9), (0.9, 0.6)])
def test_a_guided_attempt_that_is_no_better_makes_no_pair(both, beliefs):
    told = [replace(one, belief=of) for one, of in zip(both, beliefs, strict=True)]
    assert why_not(told) == NO_BETTER


def test_a_maintainer_who_found_the_first_wanting_needs_no_verdict(tmp_path):
    first, second = attempts.judged(tmp_path / "tree", source=HintSource.MAINTAINER)
    assert pair_guided_attempts([replace(first, belief=None), second]).pairs


def test_who_repeats_the_hint_teaches_nothing(tmp_path):
    quoting = "n / 2  # the test of odd numbers fails: nothing may be rounded"
    assert why_not(attempts.judged(tmp_path / "tree", better=quoting)) == QUOTES_HINT


def test_a_first_attempt_that_repeats_a_hint_of_its_own_teaches_nothing(tmp_path):
    quoting = "(n) / 2  # the test of odd numbers fails: nothing may be rounded"
    first, third = attempts.judged(tmp_path / "tree", better=quoting)
    _, second = attempts.judged(tmp_path / "tree")
    hint = replace(attempts.HINT, parent=third.identity)
    again = replace(second, trajectory=replace(second.trajectory, guidance=hint))
    found = pair_guided_attempts([first, replace(third, belief=0.2), again])
    assert found.left_out == Counter({NO_BETTER: 1, QUOTES_HINT: 1})


def test_a_pipelines_record_and_another_prompt_make_no_pair(both):
    first, second = both
    piped = [replace(one, trajectory=replace(one.trajectory, opening=())) for one in both]
    hint = replace(attempts.HINT, parent=piped[0].identity)
    piped[1] = replace(piped[1], trajectory=replace(piped[1].trajectory, guidance=hint))
    assert why_not(piped) == NO_CONVERSATION
    fewer = replace(second, trajectory=replace(second.trajectory, tools=()))
    assert why_not([first, fewer]) == OTHER_PROMPT


def test_attempts_come_back_from_their_file_as_they_were(both, tmp_path):
    path = tmp_path / "deep" / "attempts.jsonl"
    unjudged = replace(both[0], belief=None)
    assert pairs.write_attempts(path, [*both, unjudged]) == 3
    assert pairs.read_attempts(path) == [*both, unjudged]
    assert pairs.read_attempts(path)[1].identity == both[1].identity


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "line 1 is no attempt"),
        (
            '{"format": "r4p.attempt/9"}',
            r"is 'r4p.attempt/9', but this version reads r4p.attempt/1",
        ),
        ('{"format": "r4p.attempt/1", "belief": 1, "issue": "a", "trajectory": {}}', "no attempt"),
    ],
)
def test_a_file_of_something_else_is_refused_with_its_line(tmp_path, text, said):
    path = tmp_path / "attempts.jsonl"
    path.write_text(text)
    with pytest.raises(BadPlan, match=said):
        pairs.read_attempts(path)


def test_a_missing_file_is_named_with_how_to_make_it(tmp_path):
    with pytest.raises(BadPlan, match="r4p train attempts"):
        pairs.read_attempts(tmp_path / "none.jsonl")
    with pytest.raises(BadPlan, match="--material"):
        pairs.read_attempts(None)


def test_without_attempts_there_are_no_pairs():
    assert pairs.pair_guided_attempts([]) == pairs.GuidedPairs()


GROUP = replace(tiny_model.groups(1)[0], targets=(0.9, 0.1, None, 0.6))


def test_each_correct_patch_is_paired_with_each_that_is_not():
    found = build_preferences([GROUP])
    first, second, _, fourth = GROUP.patches
    assert [(one.better, one.worse) for one in found] == [(first, second), (fourth, second)]
    assert [round(one.margin, 9) for one in found] == [0.8, 0.5]
    assert {one.issue for one in found} == {GROUP.issue}


def test_a_pair_of_several_groups_is_one_pair():
    assert len(build_preferences([GROUP, replace(GROUP, key="again")])) == 2


def test_padding_and_groups_of_one_sort_make_no_pair():
    padded = replace(GROUP, patches=(GROUP.patches[0], "", "", ""), targets=(1.0, 0.0, 0.0, None))
    assert build_preferences([padded, replace(GROUP, targets=(1.0,) * 4)]) == []
