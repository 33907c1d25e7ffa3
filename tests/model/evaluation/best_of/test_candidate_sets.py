"""Draws of K candidates, and what judging them costs."""

from itertools import combinations
from math import comb

import pytest

from model.catalog import load_verifier
from model.domain import Issue, Patch, PatchId
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.errors import BadGroups, IncompatibleOptions, UnknownVerifier
from model.evaluation.best_of.candidate_sets import count_requests, draw_sets, parse_sizes
from model.evaluation.labelled_group import LabelledGroup, LabelledPatch
from model.evaluation.regrouping import draw_candidates, join_issues, list_pairs
from tests.model.builders import build_diff


def build_group(*labels, issue="o__r-1", first=0):
    patches = tuple(
        LabelledPatch(
            Patch(PatchId(f"candidate-{at}"), build_diff(f"{issue} {at + first}.")), good, None
        )
        for at, good in enumerate(labels, 1)
    )
    return LabelledGroup(issue, "o/r", Issue("It breaks", ""), patches)


def list_ids(group):
    return tuple(patch.patch.id for patch in group.patches)


def test_sets_are_different_and_repeat_exactly():
    group = build_group(*[True, False] * 4)
    drawn = draw_candidates(group, 3, 20)
    assert len({list_ids(one) for one in drawn}) == 20
    assert all(list_ids(one) == tuple(sorted(list_ids(one))) for one in drawn)
    assert drawn == draw_candidates(group, 3, 20)
    assert drawn[:5] == draw_candidates(group, 3, 5)
    elsewhere = draw_candidates(build_group(*[True, False] * 4, issue="o__r-2"), 3, 20)
    assert list(map(list_ids, elsewhere)) != list(map(list_ids, drawn))


def test_small_group_gives_every_set_once_or_none():
    group = build_group(True, False, True, False)
    every = {tuple(f"candidate-{at}" for at in four) for four in combinations(range(1, 5), 2)}
    assert {list_ids(one) for one in draw_candidates(group, 2, 99)} == every
    assert draw_candidates(group, 4, 9) == [group]
    assert draw_candidates(group, 5, 9) == []


def test_labels_of_a_draw_are_those_of_its_candidates():
    group = build_group(True, False, False, True, False)
    truth = {patch.patch.id: patch for patch in group.patches}
    for drawn in draw_candidates(group, 2, 10):
        assert all(patch == truth[patch.patch.id] for patch in drawn.patches)


def test_groups_of_one_issue_are_joined_without_repeats():
    one, two = build_group(True, False), build_group(True, True, first=1)
    (joined,) = join_issues([one, two])
    assert list_ids(joined) == ("candidate-1", "candidate-2", "candidate-3")
    assert [patch.resolved for patch in joined.patches] == [True, False, True]
    assert len({patch.patch.diff for patch in joined.patches}) == 3
    assert join_issues([one]) == [one]


def test_pairs_hold_one_correct_and_one_incorrect_patch_in_file_order():
    pairs = list_pairs([build_group(False, True, True, False), build_group(True, True)])
    assert [list_ids(pair) for pair in pairs] == [
        ("candidate-1", "candidate-2"),
        ("candidate-1", "candidate-3"),
        ("candidate-2", "candidate-4"),
        ("candidate-3", "candidate-4"),
    ]


def test_sets_of_each_size():
    groups = [build_group(*[True] * 5), build_group(False, True, issue="o__r-2")]
    drawn = draw_sets(groups, (1, 2, 4, 8), 3)
    assert {size: len(sets) for size, sets in drawn.sets.items()} == {1: 7, 2: 4, 4: 3, 8: 0}
    assert (drawn.issues, drawn.draws, len(drawn.to_judge)) == (2, 3, 7)
    assert drawn.count_requests("pointwise", 2) == 2 * (4 * 2 + 3 * 4)
    with pytest.raises(BadGroups, match="no issue has 8 candidates, the most are 5"):
        draw_sets(groups, (8, 16), 3)


@pytest.mark.parametrize(("text", "sizes"), [("1,2,4,8,16", (1, 2, 4, 8, 16)), ("4, 2,4", (2, 4))])
def test_sizes_are_parsed(text, sizes):
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", "0", "1,,2", "two", "-4", "1.5"])
def test_other_text_is_no_list_of_sizes(text):
    with pytest.raises(IncompatibleOptions, match="--best-of"):
        parse_sizes(text)


class CountingEngine(ScriptedEngine):
    def __init__(self, *lines):
        super().__init__(lines)
        self.asked = 0

    def complete(self, requests):
        self.asked += len(requests)
        return super().complete(requests)


@pytest.mark.parametrize("size", [2, 4, 5, 8, 16])
@pytest.mark.parametrize(
    ("verifier", "votes"), [("r4p", 3), ("r4p-two-rounds", 2), ("pointwise", 2), ("pairwise", 1)]
)
def test_requests_are_counted_as_the_verifier_sends_them(verifier, votes, size):
    box = ("Which patch is most likely", "most likely")
    lines = [ScriptLine(when=text, reply="\\boxed{1}", repeat=True) for text in box] + [
        ScriptLine(box_containing=("line",), reply="", repeat=True)
    ]
    engine = CountingEngine(*lines)
    patches = [Patch(PatchId(f"{at}"), build_diff(f"line {at}")) for at in range(size)]
    load_verifier(verifier, engine).verify(Issue("It breaks", ""), patches, votes=votes)
    assert engine.asked == count_requests(verifier, size, votes)


def test_requests_of_a_hybrid_are_those_of_both_parts():
    assert count_requests("hybrid:yes-no+r4p", 6, 3) == 6 + 3 * 2
    assert count_requests("hybrid:consensus+pairwise", 5, 1) == 3 * 2 + 2 * 1
    assert count_requests("consensus", 16, 1) == 0
    assert count_requests("yes-no-trajectory", 16, 3) == count_requests("reward-model", 16, 3) == 16
    assert comb(4, 2) * 2 == count_requests("pairwise", 4, 1)
    with pytest.raises(UnknownVerifier):
        count_requests("oracle", 2, 1)
