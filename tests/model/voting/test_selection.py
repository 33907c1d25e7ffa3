"""Choices among candidates and Best@K, by hand, by property, and against brute force."""

from itertools import combinations
from math import comb
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.domain import Coverage, PatchId, PatchVerdict, Verdict, VoteCount
from model.voting.selection import (
    combine_scores,
    compute_best_at_k,
    compute_shortlist_size,
    fingerprint_edit,
    sample_best_at_k,
    score_by_majority,
    select_shortlist,
    select_survivors,
)
from tests.model.builders import build_diff

scores = st.none() | st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
rankings = st.dictionaries(st.sampled_from("abcdefgh"), scores, max_size=8)
judged = st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=7)


@pytest.mark.parametrize(
    ("count", "kept"), [(1, 3), (3, 3), (4, 3), (6, 3), (7, 4), (16, 8), (26, 13)]
)
def test_half_and_at_least_three_go_on(count, kept):
    assert compute_shortlist_size(count) == kept


@pytest.mark.parametrize(
    ("ranking", "keep", "kept"),
    [
        ({"a": 0.9, "b": 0.5, "c": 0.1}, 2, "ab"),
        ({"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.1}, 2, "abc"),
        ({"a": 0.9, "b": None, "c": 0.1}, 1, "ab"),
        ({"a": None, "b": None}, 1, "ab"),
        ({"a": 0.9}, 3, "a"),
        ({}, 3, ""),
    ],
    ids=["the best", "a tie at the border", "no opinion", "no opinion at all", "few", "none"],
)
def test_a_shortlist(ranking, keep, kept):
    assert select_shortlist(ranking, keep) == set(kept)


@given(rankings, st.integers(1, 8))
def test_shortlist_holds_all_ties_and_unknown_scores(ranking, keep):
    kept = select_shortlist(ranking, keep)
    assert len(kept) >= min(keep, len(ranking))
    on = [ranking[item] for item in kept if ranking[item] is not None]
    off = [ranking[item] for item in ranking.keys() - kept]
    assert None not in off
    assert not on or not off or max(off) < min(on)


def verdict(name, claim):
    return PatchVerdict(PatchId(name), claim, VoteCount(), "", Coverage(1, 1))


@pytest.mark.parametrize(
    ("claims", "left"),
    [("cuin", "0"), ("uin", "0"), ("iin", "01"), ("nn", ""), ("", ""), ("cci", "01")],
)
def test_survivors_of_the_first_round(claims, left):
    letters = {
        "c": Verdict.CORRECT,
        "u": Verdict.UNSURE,
        "i": Verdict.INCORRECT,
        "n": Verdict.NOT_JUDGED,
    }
    patches = [verdict(str(n), letters[letter]) for n, letter in enumerate(claims)]
    assert select_survivors(patches) == set(left)


def test_second_score_decides_and_first_breaks_ties():
    first = {"a": 0.2, "b": 0.9, "c": 0.8, "d": 1.0, "e": None, "f": 0.5}
    ranking = combine_scores(first, {"a": 1.0, "b": 0.0, "c": 0.0})
    assert sorted("fdcba", key=ranking.get, reverse=True) == ["a", "b", "c", "d", "f"]
    assert ranking["e"] is None


def test_where_the_second_has_no_opinion_the_first_stands():
    ranking = combine_scores({"a": 0.7, "b": None, "c": None}, {"a": None, "b": 0.5, "c": None})
    assert ranking == {"a": 1.0, "b": 0.5, "c": None}


def test_first_score_outvotes_no_test():
    """101 tests; the more of them a patch passes, the less the first verifier thinks of it."""
    first = {str(passed): 1 - passed / 101 for passed in range(102)}
    ranking = combine_scores(first, {str(passed): passed / 101 for passed in range(102)})
    assert ranking == {str(passed): (passed + 1) / 102 for passed in range(102)}


def test_first_score_breaks_an_exact_tie_of_tests():
    first = {"none": None, "low": 0.2, "high": 0.2 + 1e-12, "fewer": 1.0}
    passed = {"none": 100 / 101, "low": 100 / 101, "high": 100 / 101, "fewer": 99 / 101}
    assert combine_scores(first, passed) == {"none": 0.5, "low": 0.75, "high": 1, "fewer": 0.25}


@given(rankings, st.data())
def test_a_composed_ranking_keeps_both_in_their_order(first, data):
    chosen = data.draw(st.sets(st.sampled_from(sorted(first)))) if first else set()
    second = {item: data.draw(scores) for item in sorted(chosen)}
    ranking = combine_scores(first, second)
    assert list(ranking) == list(first)
    assert all(score is None or 0 <= score <= 1 for score in ranking.values())
    for one, other in combinations(sorted(chosen), 2):
        settled = [second[one], second[other], first[one], first[other]]
        if None not in settled and (second[one], first[one]) > (second[other], first[other]):
            assert ranking[one] > ranking[other]
    on = [ranking[item] for item in chosen if ranking[item] is not None]
    off = [ranking[patch] for patch in first.keys() - chosen if ranking[patch] is not None]
    assert not on or not off or max(off) < min(on)


@pytest.mark.parametrize(
    ("pairs", "k", "value"),
    [
        ([(0.9, True), (0.1, False)], 2, 1),
        ([(0.9, True), (0.1, False)], 1, 0.5),
        ([(0.9, False), (0.1, True)], 2, 0),
        ([(0.5, True), (0.5, False)], 2, 0.5),
        ([(None, True), (0.0, False)], 2, 0),
        ([(None, True), (None, False)], 2, 0.5),
        ([(0.9, True), (0.5, False), (0.1, False)], 2, 2 / 3),
    ],
)
def test_best_at_k_by_hand(pairs, k, value):
    assert compute_best_at_k(pairs, k) == pytest.approx(value)


def picks(pairs):
    """The top ones of some places, as `compute_best_at_k` sees them."""

    def select(places):
        top = max(-1 if pairs[at][0] is None else pairs[at][0] for at in places)
        return [at for at in places if (-1 if pairs[at][0] is None else pairs[at][0]) == top]

    return select


@given(judged, st.data())
def test_best_at_k_is_the_mean_over_all_subsets(pairs, data):
    k = data.draw(st.integers(1, len(pairs)))
    select = picks(pairs)
    subsets = list(combinations(range(len(pairs)), k))
    means = [fmean(pairs[at][1] for at in select(places)) for places in subsets]
    assert len(subsets) == comb(len(pairs), k)
    assert compute_best_at_k(pairs, k) == pytest.approx(fmean(means))


def test_few_draws_are_all_tried_and_many_are_sampled_the_same_by_their_seed():
    pairs = [(n % 5 / 5, n % 3 == 0) for n in range(16)]
    labels = [label for _, label in pairs]
    exact = compute_best_at_k(pairs, 4)
    assert sample_best_at_k(picks(pairs), labels, 4, samples=comb(16, 4)) == pytest.approx(exact)
    sampled = sample_best_at_k(picks(pairs), labels, 4)
    assert sampled != exact
    assert sampled == pytest.approx(exact, abs=0.05)
    assert sampled == sample_best_at_k(picks(pairs), labels, 4)
    assert sample_best_at_k(lambda _: [], labels, 4) == 0


@pytest.mark.parametrize("k", [0, 3])
def test_refuses_k_above_the_number_of_candidates(k):
    with pytest.raises(ValueError, match=f"Best@{k} of 2"):
        compute_best_at_k([(0.1, True), (0.2, False)], k)
    with pytest.raises(ValueError, match=f"Best@{k} of 2"):
        sample_best_at_k(lambda places: places, [True, False], k)


def test_majority_ignores_position_and_surrounding_text():
    moved = build_diff("same").replace("@@ -1 +1 @@", "@@ -7 +7 @@")
    diffs = [build_diff("same"), moved, build_diff("other"), "no diff", " "]
    assert score_by_majority(list(map(fingerprint_edit, diffs))) == [
        2 / 3,
        2 / 3,
        1 / 3,
        None,
        None,
    ]
    assert score_by_majority([]) == []
