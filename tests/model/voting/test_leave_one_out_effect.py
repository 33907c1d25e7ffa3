"""Sway: whose presence turns the votes about a patch, and when nothing can be said of that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.domain import VoteCount
from model.voting.leave_one_out_effect import count_needed_votes, explain, find_decisive_rivals
from tests.model.builders import build_vote

SHOWN = [build_vote("ar", "")] * 2
ABSENT = [build_vote("ab", "a")] * 2


def test_a_rival_in_whose_presence_the_votes_say_the_opposite_is_named():
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


def test_whose_absence_is_the_others_presence_are_named_together():
    assert find_decisive_rivals([*SHOWN, *ABSENT], "a") == ("b", "r")


def test_who_is_judged_alike_with_and_without_every_rival_hangs_on_nobody():
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
def test_of_too_few_votes_nothing_is_claimed(votes):
    assert find_decisive_rivals(votes, "a") == ()


def test_an_even_split_is_no_opposite():
    assert find_decisive_rivals([*SHOWN, build_vote("a.", "a"), build_vote("a.", "")], "a") == ()


def test_votes_that_mostly_failed_tell_nothing():
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
def test_whoever_is_named_sat_beside_the_patch_and_was_missing(drawn):
    votes = [
        build_vote(
            "".join(order[:size]), None if boxed is None else "".join(boxed & set(order[:size]))
        )
        for order, size, boxed in drawn
    ]
    named = find_decisive_rivals(votes, "a")
    about = [one for one in votes if "a" in one.seats and one.correct is not None]
    assert "a" not in named
    assert list(named) == sorted(named)
    for rival in named:
        said = [
            {"a" in one.correct for one in about if (rival in one.seats) is shown}
            for shown in (True, False)
        ]
        assert all(said)
        assert said[0] | said[1] == {True, False}
    assert find_decisive_rivals(votes[::-1], "a") == named


def test_the_reason_tells_the_votes_and_names_the_rivals():
    assert explain(VoteCount(2, 3, 1), ["candidate-2"]) == (
        "2 of 5 valid votes hold it correct; its verdict changes when candidate-2 is not shown"
    )
    assert explain(VoteCount(1, 1), ["#7", "#9"]).endswith("when #7 or #9 is not shown")


def test_everybody_is_left_out_twice_in_the_votes_that_are_needed():
    assert [count_needed_votes(count) for count in (1, 2, 3, 4, 9)] == [0, 0, 6, 8, 18]
