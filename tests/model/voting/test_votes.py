"""Majorities decide, failures count for no side, and reasons name patches instead of seats."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.domain import Verdict, VoteCount
from model.voting.thresholds import AGREEMENT, Thresholds
from model.voting.votes import (
    EXCERPT_CHARACTERS,
    compute_wave_size,
    count_votes_to_settle,
    decide,
    explain,
    find_open_ballots,
    is_settled,
    tally,
)
from tests.model.builders import build_vote


def test_votes_are_counted_by_patch_not_by_seat():
    votes = [build_vote("ab..", "a"), build_vote("ba..", "a"), build_vote("ab..", "ab")]
    assert tally(votes, "a") == VoteCount(correct=3)
    assert tally(votes, "b") == VoteCount(correct=1, incorrect=2)


def test_unreadable_vote_counts_for_neither_side():
    votes = [build_vote("ab..", "a"), build_vote("ab..", None)]
    assert tally(votes, "b") == VoteCount(incorrect=1, none=1)


def test_votes_of_another_part_do_not_count():
    assert tally([build_vote("ab..", "a"), build_vote("cd..", None)], "a") == VoteCount(correct=1)


@pytest.mark.parametrize(
    ("count", "verdict"),
    [
        (VoteCount(correct=1), Verdict.CORRECT),
        (VoteCount(incorrect=1), Verdict.INCORRECT),
        (VoteCount(correct=2, incorrect=1), Verdict.CORRECT),
        (VoteCount(correct=1, incorrect=2), Verdict.INCORRECT),
        (VoteCount(correct=3, incorrect=2), Verdict.CORRECT),
        (VoteCount(correct=2, incorrect=3), Verdict.INCORRECT),
        (VoteCount(correct=2, incorrect=2), Verdict.UNSURE),
        (VoteCount(correct=4, incorrect=3), Verdict.UNSURE),
        (VoteCount(correct=1, none=1), Verdict.CORRECT),
        (VoteCount(correct=1, none=2), Verdict.UNSURE),
        (VoteCount(incorrect=1, none=2), Verdict.UNSURE),
        (VoteCount(none=3), Verdict.UNSURE),
        (VoteCount(), Verdict.UNSURE),
    ],
)
def test_majority_decides_beyond_the_thresholds(count, verdict):
    assert decide(count) == verdict


def explain_first(votes, patch="a"):
    return explain(votes, patch)


def test_reason_quotes_the_winning_side_with_patch_names():
    votes = [
        build_vote("ba..", "b", "Patch 2 forgets the empty list. Patch 1 is better.\n\\boxed{1}"),
        build_vote(
            "ab..", "b", "Patch 2 covers it, unlike <patch-1>, which breaks. So \\boxed{2}."
        ),
        build_vote("ab..", "a", "Patch 1 is perfect.\\boxed{1}"),
    ]
    assert explain_first(votes) == "1 of 3 valid votes hold it correct. a forgets the empty list."
    assert explain_first(votes, "b") == "2 of 3 valid votes hold it correct. b is better."
    assert explain_first(votes[1:2]) == (
        "0 of 1 valid votes hold it correct. b covers it, unlike a, which breaks."
    )


def test_paragraph_about_the_seat_is_quoted_whole():
    reply = (
        "Patch 1: sets the length.\nIt is right.\n\n"
        "**Patch 2:** misses None,\nunlike patch 1.\nAnswer: \\boxed{1}"
    )
    votes = [build_vote("ab..", "a", reply)]
    assert explain_first(votes).endswith("correct. sets the length. It is right.")
    assert explain_first(votes, "b").endswith("correct. misses None, unlike a.")


def test_free_reply_is_quoted_before_a_forced_one():
    votes = [
        build_vote("a...", "a", "Patch 1 is forced.", forced=True),
        build_vote("a...", "a", "Patch 1 is free."),
    ]
    assert explain_first(votes) == "2 of 2 valid votes hold it correct. a is free."


def test_empty_and_unknown_seats_keep_a_readable_name():
    votes = [build_vote("a...", "a", "patch 1 beats patch #2 and Patch 7.")]
    assert explain_first(votes).endswith("a beats an empty seat and Patch 7.")


def test_numbers_that_are_no_seats_stay():
    votes = [build_vote("a...", "a", "Patch 1 returns 2, and mypatch 1 or dispatch-1 do not.")]
    assert explain_first(votes).endswith("a returns 2, and mypatch 1 or dispatch-1 do not.")


def test_long_quote_is_cut_at_a_word():
    votes = [build_vote("a...", "a", "Patch 1 " + "really " * 500)]
    quote = explain_first(votes).split(". ", 1)[1]
    assert len(quote) <= EXCERPT_CHARACTERS
    assert quote.endswith("really…")


def test_reason_says_that_no_reply_explains():
    assert explain_first([build_vote("a...", "a", "\\boxed{1}")]) == (
        "1 of 1 valid votes hold it correct; no reply said why"
    )


def test_reason_reports_a_tie():
    votes = [build_vote("a...", "a", "Patch 1 works."), build_vote("a...", "")]
    assert explain_first(votes) == "1 of 2 valid votes hold it correct; the votes do not agree"


def test_reason_reports_too_many_failures():
    votes = [build_vote("a...", "a"), build_vote("a...", None), build_vote("a...", None)]
    assert explain_first(votes) == (
        "1 of 1 valid votes hold it correct; 2 votes failed or could not be read, too many to decide"
    )


def test_reason_names_no_server():
    failed = replace(build_vote("a...", None), failure="the engine failed: http://10.0.0.5 said no")
    assert explain_first([failed]) == "None of 1 votes could be read: the engine failed"


def test_reason_without_votes_holds_the_first_failure():
    assert explain_first([build_vote("a...", None)]) == "None of 1 votes could be read: no box"
    assert explain([], "a") == "No vote was cast about it"


counts = st.builds(VoteCount, st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
bounds = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted)
thresholds = bounds.filter(lambda pair: pair[0] < pair[1]).map(
    lambda pair: Thresholds(correct=pair[1] / 20, incorrect=pair[0] / 20)
) | st.just(Thresholds(correct=None, incorrect=0.5))


def list_outcomes(count, left):
    """Every count that up to `left` more votes can lead to."""
    for correct, incorrect, none in product(range(left + 1), repeat=3):
        if correct + incorrect + none <= left:
            yield VoteCount(count.correct + correct, count.incorrect + incorrect, count.none + none)


@given(counts, st.integers(0, 6), thresholds)
def test_settled_count_cannot_change_its_verdict(count, left, bounds):
    verdicts = {decide(end, bounds) for end in list_outcomes(count, left)}
    assert is_settled(count, left, bounds) == (len(verdicts) == 1)


@given(counts, st.integers(0, 6), thresholds)
def test_fewer_votes_than_counted_settle_nothing(count, left, bounds):
    fewest = count_votes_to_settle(count, left, bounds)
    assert 0 <= fewest <= left
    for more in range(fewest):
        for side in ("correct", "incorrect"):
            agreed = replace(count, **{side: getattr(count, side) + more})
            assert not is_settled(agreed, left - more, bounds)


@pytest.mark.parametrize(
    ("votes", "fewest"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (10, 6), (32, 20)]
)
def test_votes_to_settle_match_hand_computed_values(votes, fewest):
    assert count_votes_to_settle(VoteCount(), votes) == fewest


def test_seating_stays_open_while_its_vote_can_change_a_verdict():
    waiting = [("a", "b", None, None), ("c", None, None, None)]
    counts = {"a": VoteCount(correct=3), "b": VoteCount(1, 1), "c": VoteCount(incorrect=3)}
    assert find_open_ballots(waiting, counts, AGREEMENT) == [True, False]
    assert compute_wave_size(waiting[:1], counts, AGREEMENT) == 1


def test_wave_ends_when_all_patches_could_be_settled():
    waiting = [("a", "b"), ("c",), ("a", "c"), ("b",), ("a", "b"), ("c",)]
    nobody = dict.fromkeys("abc", VoteCount())
    assert compute_wave_size(waiting, nobody, AGREEMENT) == 4
    assert compute_wave_size([], nobody, AGREEMENT) == 0
