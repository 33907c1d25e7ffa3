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


def test_votes_are_counted_by_patch_and_not_by_seat():
    votes = [build_vote("ab..", "a"), build_vote("ba..", "a"), build_vote("ab..", "ab")]
    assert tally(votes, "a") == VoteCount(correct=3)
    assert tally(votes, "b") == VoteCount(correct=1, incorrect=2)


def test_an_unreadable_vote_counts_for_neither_side():
    votes = [build_vote("ab..", "a"), build_vote("ab..", None)]
    assert tally(votes, "b") == VoteCount(incorrect=1, none=1)


def test_votes_about_another_part_of_the_group_do_not_count():
    assert tally([build_vote("ab..", "a"), build_vote("cd..", None)], "a") == VoteCount(correct=1)


def test_a_group_where_all_are_right_and_one_where_all_are_wrong():
    for boxed, verdict in (("abcd", Verdict.CORRECT), ("", Verdict.INCORRECT)):
        votes = [build_vote("abcd", boxed), build_vote("dcba", boxed)]
        assert {decide(tally(votes, patch)) for patch in "abcd"} == {verdict}


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
def test_thresholds(count, verdict):
    assert decide(count) == verdict


def reason(votes, patch="a"):
    return explain(votes, patch)


def test_the_reason_quotes_the_winning_side_and_renames_the_seats():
    votes = [
        build_vote("ba..", "b", "Patch 2 forgets the empty list. Patch 1 is better.\n\\boxed{1}"),
        build_vote(
            "ab..", "b", "Patch 2 covers it, unlike <patch-1>, which breaks. So \\boxed{2}."
        ),
        build_vote("ab..", "a", "Patch 1 is perfect.\\boxed{1}"),
    ]
    assert reason(votes) == "1 of 3 valid votes hold it correct. a forgets the empty list."
    assert reason(votes, "b") == "2 of 3 valid votes hold it correct. b is better."
    assert reason(votes[1:2]) == (
        "0 of 1 valid votes hold it correct. b covers it, unlike a, which breaks."
    )


def test_a_paragraph_about_the_seat_is_quoted_whole():
    reply = (
        "Patch 1: sets the length.\nIt is right.\n\n"
        "**Patch 2:** misses None,\nunlike patch 1.\nAnswer: \\boxed{1}"
    )
    votes = [build_vote("ab..", "a", reply)]
    assert reason(votes).endswith("correct. sets the length. It is right.")
    assert reason(votes, "b").endswith("correct. misses None, unlike a.")


def test_a_reply_that_boxed_by_itself_is_quoted_before_a_forced_one():
    votes = [
        build_vote("a...", "a", "Patch 1 is forced.", forced=True),
        build_vote("a...", "a", "Patch 1 is free."),
    ]
    assert reason(votes) == "2 of 2 valid votes hold it correct. a is free."


def test_empty_and_unknown_seats_keep_a_readable_name():
    votes = [build_vote("a...", "a", "patch 1 beats patch #2 and Patch 7.")]
    assert reason(votes).endswith("a beats an empty seat and Patch 7.")


def test_numbers_that_are_no_patches_stay():
    votes = [build_vote("a...", "a", "Patch 1 returns 2, and mypatch 1 or dispatch-1 do not.")]
    assert reason(votes).endswith("a returns 2, and mypatch 1 or dispatch-1 do not.")


def test_a_long_quote_is_cut_at_a_word():
    votes = [build_vote("a...", "a", "Patch 1 " + "really " * 500)]
    quote = reason(votes).split(". ", 1)[1]
    assert len(quote) <= EXCERPT_CHARACTERS
    assert quote.endswith("really…")


def test_reason_says_that_no_reply_explains():
    assert reason([build_vote("a...", "a", "\\boxed{1}")]) == (
        "1 of 1 valid votes hold it correct; no reply said why"
    )


def test_a_tie_says_that_the_votes_do_not_agree():
    votes = [build_vote("a...", "a", "Patch 1 works."), build_vote("a...", "")]
    assert reason(votes) == "1 of 2 valid votes hold it correct; the votes do not agree"


def test_reason_reports_too_many_failures():
    votes = [build_vote("a...", "a"), build_vote("a...", None), build_vote("a...", None)]
    assert reason(votes) == (
        "1 of 1 valid votes hold it correct; 2 votes failed or could not be read, too many to decide"
    )


def test_a_reason_names_no_server():
    failed = replace(build_vote("a...", None), failure="the engine failed: http://10.0.0.5 said no")
    assert reason([failed]) == "None of 1 votes could be read: the engine failed"


def test_reason_without_votes_holds_the_first_failure():
    assert reason([build_vote("a...", None)]) == "None of 1 votes could be read: no box"
    assert explain([], "a") == "No vote was cast about it"


counts = st.builds(VoteCount, st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
bounds = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted)
thresholds = bounds.filter(lambda pair: pair[0] < pair[1]).map(
    lambda pair: Thresholds(correct=pair[1] / 20, incorrect=pair[0] / 20)
) | st.just(Thresholds(correct=None, incorrect=0.5))


def ends(count, left):
    """Every count that up to `left` more votes can lead to."""
    for correct, incorrect, none in product(range(left + 1), repeat=3):
        if correct + incorrect + none <= left:
            yield VoteCount(count.correct + correct, count.incorrect + incorrect, count.none + none)


@given(counts, st.integers(0, 6), thresholds)
def test_settled_means_that_no_further_votes_can_change_the_verdict(count, left, bounds):
    verdicts = {decide(end, bounds) for end in ends(count, left)}
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
def test_how_many_votes_that_agree_decide(votes, fewest):
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
