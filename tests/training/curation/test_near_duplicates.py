from hypothesis import given
from hypothesis import strategies as st

from training.curation.near_duplicates import (
    NearDuplicateIndex,
    cluster_by_shared,
    hash_shingles,
    is_near_duplicate,
)

ONE = " ".join(f"word{number}" for number in range(100))


def test_a_text_with_a_few_other_words_is_the_same_issue():
    known = NearDuplicateIndex([("o/r#1", ONE)])
    edited = ONE.replace("word50", "other").upper() + " and more"
    assert known.find(edited) == "o/r#1"
    assert known.find(" ".join(reversed(ONE.split()))) is None
    assert known.find(ONE + " " + " ".join(f"new{number}" for number in range(90))) is None


def test_a_form_makes_no_two_issues_the_same():
    form = "<!--\n" + " ".join(f"please{at}" for at in range(200)) + "\n-->"
    known = NearDuplicateIndex([("o/r#1", form + "It adds wrongly and says nothing about it.")])
    assert known.find(form + "It divides by zero when the list is empty.") is None


def test_among_many_that_share_a_phrase_the_same_one_is_found():
    form = " ".join(f"please{at}" for at in range(10))
    told = [
        (str(at), f"{form} " + " ".join(f"w{at}x{word}" for word in range(20))) for at in range(200)
    ]
    known = NearDuplicateIndex(told)
    assert [known.find(text) for _, text in told] == [name for name, _ in told]
    assert max(map(len, known._names.values())) <= 50


@given(st.text(max_size=60))
def test_every_text_is_like_itself(text):
    assert is_near_duplicate(hash_shingles(text), hash_shingles(text))
    assert NearDuplicateIndex([("a", text)]).find(text) == "a"


def test_names_are_joined_through_others():
    found = cluster_by_shared({"a": "xy", "b": "yz", "c": "z", "d": "w", "e": ""})
    assert found.find_root("a") == found.find_root("b") == found.find_root("c")
    assert len({found.find_root(name) for name in "ade"}) == 3
