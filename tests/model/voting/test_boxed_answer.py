"""A boxed answer is read exactly, or the vote is unreadable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import UnreadableAnswer
from model.voting.boxed_answer import drop_open_box, find_box_content, read_box

ALL = (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("reply", "seats"),
    [
        (r"\boxed{3}", {3}),
        (r"so \boxed{1, 2, 3, 4} (all right)", {1, 2, 3, 4}),
        (r"\boxed{}", set()),
        (r"\boxed{   }", set()),
        (r"first \boxed{1}, but on reflection \boxed{2}", {2}),
        (r"\boxed{1, 2} and then \boxed{}", set()),
        (r"\boxed {1,4}", {1, 4}),
        (r"$\boxed{\text{1, 3}}$", {1, 3}),
        (r"\boxed{\mathbf{2}}", {2}),
        (r"\boxed{1 and 2}", {1, 2}),
        (r"\boxed{1, 2, and 4}", {1, 2, 4}),
        (r"\boxed{1 \& 2}", {1, 2}),
        (r"\boxed{1;\,2}", {1, 2}),
        (r"\boxed{1 2}", {1, 2}),
        (r"\boxed{Patch 2}", {2}),
        (r"\boxed{patch-1, patch-3}", {1, 3}),
        (r"\boxed{Patches 1 and 3}", {1, 3}),
        (r"\boxed{#4}", {4}),
        ("\\boxed{\n1,\n2\n}", {1, 2}),
        (r"\boxed{1, }", {1}),
    ],
)
def test_a_clear_box_is_read(reply, seats):
    assert read_box(reply, ALL) == seats


@pytest.mark.parametrize(
    "reply",
    [
        "", "patch 2 is right", r"\boxed{1", r"\boxed{1} or rather \boxed{2, 3", r"\boxed{12}",
        r"\boxed{0}", r"\boxed{5}", r"\boxed{-1}", r"\boxed{01}", r"\boxed{1-3}", r"\boxed{1.5}",
        r"\boxed{1, 1}", r"\boxed{all}", r"\boxed{none}", r"\boxed{the first}", r"\boxed{not 2}",
        r"\boxed{\frac{1}{2}}", r"\boxed{\{1\}}", r"\boxed{١}", r"\boxed{²}",
        r"\boxed{99999999999999999999}",
    ],
)  # fmt: skip
def test_refuses_any_other_box(reply):
    with pytest.raises(UnreadableAnswer):
        read_box(reply, ALL)


def test_padding_that_is_boxed_is_unreadable():
    with pytest.raises(UnreadableAnswer, match="patch 3, which the prompt did not show"):
        read_box(r"\boxed{1, 3}", (1, 2))


def test_a_long_box_is_shown_cut():
    with pytest.raises(UnreadableAnswer) as failure:
        read_box(rf"\boxed{{{'x' * 999}}}", ALL)
    assert len(str(failure.value)) < 120


def test_nested_braces_belong_to_the_box():
    assert find_box_content(r"\boxed{a{b}{c}d} tail}") == "a{b}{c}d"


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        ("reasons", "reasons"),
        (r"reasons \boxed{1, ", "reasons "),
        (r"\boxed{1}", r"\boxed{1}"),
        (r"\boxed{1} then \boxed{", r"\boxed{1} then "),
    ],
)
def test_open_box_is_dropped(reply, kept):
    assert drop_open_box(reply) == kept


@given(st.sets(st.sampled_from(ALL)), st.text(), st.sampled_from([", ", ",", " and ", ";"]))
def test_any_set_is_read_back_whatever_stands_before(seats, before, separator):
    reply = before + rf"\boxed{{{separator.join(map(str, seats))}}}"
    assert read_box(reply, ALL) == seats


@given(st.text(st.sampled_from("\\boxed{}123 ,and45")), st.sets(st.sampled_from(ALL)))
def test_read_box_never_returns_an_empty_seat(reply, occupied):
    try:
        assert read_box(reply, occupied) <= occupied
    except UnreadableAnswer:
        return
