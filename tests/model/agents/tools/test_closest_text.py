"""Where a text that is not there was meant to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.agents.tools.closest_text import (
    ClosestMatch,
    Excerpt,
    cut_excerpt,
    find_closest,
    split_lines,
)

LINES = [f"value_{number} = {number * number}" for number in range(100)]
TEXT = "\n".join(LINES)


def test_closest_place_has_the_most_equal_lines():
    wanted = "\n".join([LINES[40], "changed = 1", LINES[42], LINES[43]])
    assert find_closest(TEXT, wanted) == ClosestMatch(
        Excerpt(39, 46, "\n".join(LINES[38:46])), None
    )


def test_first_of_equally_close_places_is_returned():
    assert find_closest("some line\nx\nsome line\ny", "some line\nz").excerpt.first == 1


def test_excerpt_starts_at_the_first_line_of_the_file():
    assert find_closest(TEXT, f"gone = 1\ngone = 2\n{LINES[0]}\nmore").excerpt == Excerpt(
        1, 4, "\n".join(LINES[:4])
    )


def test_many_equal_lines_are_searched_quickly():
    """Were each counted with each, this would be forty million pairs."""
    near = find_closest(
        "\n".join(["    return None"] * 200_000), "\n".join(["    return None"] * 200 + ["y"])
    )
    assert near.excerpt.first == 1


def test_short_lines_are_ignored():
    assert find_closest("}\n" * 50 + "something = long", "}\nsomethink = long").excerpt.first > 40


@pytest.mark.parametrize("wanted", ["", "   ", "\n\n", "§§§§§§§§§§"])
def test_unlike_text_has_no_closest_place(wanted):
    assert find_closest(TEXT, wanted) is None


def test_long_excerpt_is_cut():
    assert cut_excerpt(LINES, -5, 500) == Excerpt(1, 40, "\n".join(LINES[:40]))
    assert cut_excerpt(["x" * 5_000], 1, 1) == Excerpt(1, 1, f"{'x' * 4_000}…")


@given(st.text("ab \t\n", min_size=1, max_size=40), st.data())
def test_passage_with_other_spaces_is_found(text, data):
    """Or somewhere before it that reads the same."""
    start = data.draw(st.integers(0, len(text) - 1))
    passage = text[start : data.draw(st.integers(start + 1, len(text)))]
    wanted = data.draw(st.sampled_from(["  ", "\n"])).join(passage)
    near = find_closest(text, wanted)
    if passage.strip():
        assert near is not None
        assert near.difference
        assert near.excerpt.last <= len(split_lines(text))
        shown = "".join(near.excerpt.text.split())
        assert "".join(passage.split()) in shown


@given(st.text("ab{} \n", max_size=60), st.text("ab{} \n", max_size=30))
def test_excerpt_is_always_of_the_file(text, wanted):
    near = find_closest(text, wanted)
    if near is not None:
        lines = split_lines(text)
        assert 1 <= near.excerpt.first <= near.excerpt.last <= len(lines)
        assert near.excerpt.text == "\n".join(lines[near.excerpt.first - 1 : near.excerpt.last])
