from hypothesis import given
from hypothesis import strategies as st

from training.curation.near_duplicates import (
    NearDuplicateIndex,
    cluster_by_shared,
    hash_shingles,
    is_near_duplicate,
)

ONE = " ".join(f"word{number}" for number in range(100))


def test_text_with_a_few_other_words_is_a_duplicate():
    index = NearDuplicateIndex([("o/r#1", ONE)])
    edited = ONE.replace("word50", "other").upper() + " and more"
    assert index.find(edited) == "o/r#1"
    assert index.find(" ".join(reversed(ONE.split()))) is None
    assert index.find(ONE + " " + " ".join(f"new{number}" for number in range(90))) is None


def test_shared_form_makes_no_duplicate():
    form = "<!--\n" + " ".join(f"please{at}" for at in range(200)) + "\n-->"
    index = NearDuplicateIndex([("o/r#1", form + "It adds wrongly and says nothing about it.")])
    assert index.find(form + "It divides by zero when the list is empty.") is None


def test_duplicate_is_found_among_many_with_a_shared_phrase():
    form = " ".join(f"please{at}" for at in range(10))
    texts = [
        (str(at), f"{form} " + " ".join(f"w{at}x{word}" for word in range(20))) for at in range(200)
    ]
    index = NearDuplicateIndex(texts)
    assert [index.find(text) for _, text in texts] == [name for name, _ in texts]
    assert max(map(len, index._names.values())) <= 50


@given(st.text(max_size=60))
def test_text_is_a_duplicate_of_itself(text):
    assert is_near_duplicate(hash_shingles(text), hash_shingles(text))
    assert NearDuplicateIndex([("a", text)]).find(text) == "a"


def test_clusters_join_transitively():
    clusters = cluster_by_shared({"a": "xy", "b": "yz", "c": "z", "d": "w", "e": ""})
    assert clusters.find_root("a") == clusters.find_root("b") == clusters.find_root("c")
    assert len({clusters.find_root(name) for name in "ade"}) == 3
