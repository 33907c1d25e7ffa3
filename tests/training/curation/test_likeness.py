from hypothesis import given
from hypothesis import strategies as st

from training.curation.likeness import Known, alike, by_shared, phrases

ONE = " ".join(f"word{number}" for number in range(100))


def test_a_text_with_a_few_other_words_is_the_same_issue():
    known = Known([("o/r#1", ONE)])
    edited = ONE.replace("word50", "other").upper() + " and more"
    assert known.like(edited) == "o/r#1"
    assert known.like(" ".join(reversed(ONE.split()))) is None
    assert known.like(ONE + " " + " ".join(f"new{number}" for number in range(90))) is None


@given(st.text(max_size=60))
def test_every_text_is_like_itself(text):
    assert alike(phrases(text), phrases(text))
    assert Known([("a", text)]).like(text) == "a"


def test_names_are_joined_through_others():
    found = by_shared({"a": "xy", "b": "yz", "c": "z", "d": "w", "e": ""})
    assert found.of("a") == found.of("b") == found.of("c")
    assert len({found.of(name) for name in "ade"}) == 3
