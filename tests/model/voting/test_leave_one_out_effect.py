"""Sway: whose presence turns the votes about a patch, and when nothing can be said of that."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.domain import VoteCount
from model.voting.leave_one_out_effect import explain, needed, swayed_by
from tests.model.builders import vote

SHOWN = [vote("ar", "")] * 2
ABSENT = [vote("ab", "a")] * 2


def test_a_rival_in_whose_presence_the_votes_say_the_opposite_is_named():
    pushed_down = [vote("ar", ""), vote("abr", "b"), vote("a.", "a"), vote("ab", "ab")]
    assert swayed_by(pushed_down, "a") == ("r",)
    pulled_up = [vote("xy", "xy"), vote("xyz", "x"), vote("xz", "z"), vote("x.", "")]
    assert swayed_by(pulled_up, "x") == ("y",)


def test_whose_absence_is_the_others_presence_are_named_together():
    assert swayed_by([*SHOWN, *ABSENT], "a") == ("b", "r")


def test_who_is_judged_alike_with_and_without_every_rival_hangs_on_nobody():
    assert swayed_by([vote("ar", "a"), vote("ab", "a")] * 4, "a") == ()
    assert swayed_by([vote("ar", ""), vote("ab", "b")] * 4, "a") == ()


@pytest.mark.parametrize(
    "votes",
    [
        [],
        [vote("br", "b")] * 9,
        [*SHOWN, vote("a.", "a")],
        [*SHOWN, vote("a.", "a"), vote("a.", None)],
        [vote("ar", ""), *[vote("a.", "a")] * 9],
        [vote("a", "a")] * 4,
    ],
    ids=["none", "of others", "one absent", "one readable", "one shown", "never shown"],
)
def test_of_too_few_votes_nothing_is_claimed(votes):
    assert swayed_by(votes, "a") == ()


def test_an_even_split_is_no_opposite():
    assert swayed_by([*SHOWN, vote("a.", "a"), vote("a.", "")], "a") == ()


def test_votes_that_mostly_failed_tell_nothing():
    failed = [vote("ar", None)] * 3
    assert swayed_by([*SHOWN, *ABSENT, *failed], "a") == ()
    assert swayed_by([*SHOWN, *ABSENT, *failed[:2]], "a") == ("b", "r")


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
        vote("".join(order[:size]), None if boxed is None else "".join(boxed & set(order[:size])))
        for order, size, boxed in drawn
    ]
    named = swayed_by(votes, "a")
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
    assert swayed_by(votes[::-1], "a") == named


def test_the_reason_tells_the_votes_and_names_the_rivals():
    assert explain(VoteCount(2, 3, 1), ["candidate-2"]) == (
        "2 of 5 valid votes hold it correct; its verdict changes when candidate-2 is not shown"
    )
    assert explain(VoteCount(1, 1), ["#7", "#9"]).endswith("when #7 or #9 is not shown")


def test_everybody_is_left_out_twice_in_the_votes_that_are_needed():
    assert [needed(count) for count in (1, 2, 3, 4, 9)] == [0, 0, 6, 8, 18]
