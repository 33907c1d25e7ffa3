"""Rivals that reverse the votes about a patch are found if there are enough votes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.domain import VoteCount
from model.voting.leave_one_out_effect import (
    count_needed_votes,
    explain_dependence,
    find_decisive_rivals,
)
from tests.model.builders import build_vote

SHOWN = [build_vote("ar", "")] * 2
ABSENT = [build_vote("ab", "a")] * 2


def test_finds_a_rival_that_reverses_the_votes():
    pushed_down = [
        build_vote("ar", ""),
        build_vote("abr", "b"),
        build_vote("a.", "a"),
        build_vote("ab", "ab"),
    ]
    assert find_decisive_rivals(pushed_down, "a") == ("r",)
    pulled_up = [
        build_vote("xy", "xy"),
        build_vote("xyz", "x"),
        build_vote("xz", "z"),
        build_vote("x.", ""),
    ]
    assert find_decisive_rivals(pulled_up, "x") == ("y",)


def test_finds_two_rivals_that_alternate():
    assert find_decisive_rivals([*SHOWN, *ABSENT], "a") == ("b", "r")


def test_equal_votes_find_no_decisive_rival():
    assert find_decisive_rivals([build_vote("ar", "a"), build_vote("ab", "a")] * 4, "a") == ()
    assert find_decisive_rivals([build_vote("ar", ""), build_vote("ab", "b")] * 4, "a") == ()


@pytest.mark.parametrize(
    "votes",
    [
        [],
        [build_vote("br", "b")] * 9,
        [*SHOWN, build_vote("a.", "a")],
        [*SHOWN, build_vote("a.", "a"), build_vote("a.", None)],
        [build_vote("ar", ""), *[build_vote("a.", "a")] * 9],
        [build_vote("a", "a")] * 4,
    ],
    ids=["none", "of others", "one absent", "one readable", "one shown", "never shown"],
)
def test_too_few_votes_find_no_decisive_rival(votes):
    assert find_decisive_rivals(votes, "a") == ()


def test_even_split_is_no_reversal():
    assert find_decisive_rivals([*SHOWN, build_vote("a.", "a"), build_vote("a.", "")], "a") == ()


def test_mostly_failed_votes_find_no_decisive_rival():
    failed = [build_vote("ar", None)] * 3
    assert find_decisive_rivals([*SHOWN, *ABSENT, *failed], "a") == ()
    assert find_decisive_rivals([*SHOWN, *ABSENT, *failed[:2]], "a") == ("b", "r")


@given(
    st.lists(
        st.tuples(
            st.permutations("abcd"), st.integers(1, 4), st.none() | st.sets(st.sampled_from("abcd"))
        ),
        max_size=20,
    )
)
def test_decisive_rival_was_both_present_and_absent(drawn):
    votes = [
        build_vote(
            "".join(order[:size]), None if boxed is None else "".join(boxed & set(order[:size]))
        )
        for order, size, boxed in drawn
    ]
    named = find_decisive_rivals(votes, "a")
    about = [vote for vote in votes if "a" in vote.seats and vote.correct is not None]
    assert "a" not in named
    assert list(named) == sorted(named)
    for rival in named:
        said = [
            {"a" in item.correct for item in about if (rival in item.seats) is shown}
            for shown in (True, False)
        ]
        assert all(said)
        assert said[0] | said[1] == {True, False}
    assert find_decisive_rivals(votes[::-1], "a") == named


def test_the_reason_tells_the_votes_and_names_the_rivals():
    assert explain_dependence(VoteCount(2, 3, 1), ["candidate-2"]) == (
        "2 of 5 valid votes hold it correct; its verdict changes when candidate-2 is not shown"
    )
    assert explain_dependence(VoteCount(1, 1), ["#7", "#9"]).endswith("when #7 or #9 is not shown")


def test_needed_votes_leave_each_candidate_out_twice():
    assert [count_needed_votes(count) for count in (1, 2, 3, 4, 9)] == [0, 0, 6, 8, 18]
