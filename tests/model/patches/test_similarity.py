"""Likeness of patches by the words they change."""

from hypothesis import given
from hypothesis import strategies as st

from model.patches.similarity import count_changed_words, measure_overlap
from tests.model.builders import build_diff

words = st.lists(st.sampled_from(["if", "x", "==", "0", "return"]), max_size=8).map(" ".join)
bags = words.map(lambda line: count_changed_words(build_diff(line)))


def test_only_changed_lines_count_each_on_its_side():
    bag = count_changed_words(build_diff("return x(1)", removed="return x"))
    assert bag == {"+return": 1, "+x": 1, "+(": 1, "+1": 1, "+)": 1, "-return": 1, "-x": 1}


def test_by_hand():
    one, other = (count_changed_words(f"+{line}\n") for line in ("a b c", "a b d"))
    assert measure_overlap(one, other) == 0.5
    assert measure_overlap(count_changed_words(""), count_changed_words("")) == 1


@given(bags, bags)
def test_symmetric_between_none_and_all(one, other):
    assert measure_overlap(one, other) == measure_overlap(other, one)
    assert 0 <= measure_overlap(one, other) <= 1
    assert (measure_overlap(one, other) == 1) == (one == other)
