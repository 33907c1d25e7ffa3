"""Likeness of patches by the words they change."""

from hypothesis import given
from hypothesis import strategies as st

from model.patches.similarity import changed_words, likeness
from tests.model.builders import diff_of

words = st.lists(st.sampled_from(["if", "x", "==", "0", "return"]), max_size=8).map(" ".join)
bags = words.map(lambda line: changed_words(diff_of(line)))


def test_only_changed_lines_count_each_on_its_side():
    bag = changed_words(diff_of("return x(1)", removed="return x"))
    assert bag == {"+return": 1, "+x": 1, "+(": 1, "+1": 1, "+)": 1, "-return": 1, "-x": 1}


def test_by_hand():
    one, other = (changed_words(f"+{line}\n") for line in ("a b c", "a b d"))
    assert likeness(one, other) == 0.5
    assert likeness(changed_words(""), changed_words("")) == 1


@given(bags, bags)
def test_symmetric_between_none_and_all(one, other):
    assert likeness(one, other) == likeness(other, one)
    assert 0 <= likeness(one, other) <= 1
    assert (likeness(one, other) == 1) == (one == other)
