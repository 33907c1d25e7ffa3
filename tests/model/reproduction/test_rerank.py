"""CodeT's score and the regression filter, with numbers by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.reproduction.rerank import (
    RerankedPatches,
    keep_best_consensus,
    keep_fewest_broken,
    rerank_patches,
    score_consensus,
)


@pytest.mark.parametrize(
    ("broken", "kept"),
    [
        ({"a": 3, "b": 0, "c": 0}, {"b", "c"}),
        ({"a": 3, "b": 5}, {"a"}),
        ({"a": None, "b": 5}, {"b"}),
        ({"a": None, "b": None}, {"a", "b"}),
        ({}, set()),
    ],
)
def test_patches_with_the_fewest_broken_tests_are_kept(broken, kept):
    assert keep_fewest_broken(broken) == kept


def test_a_group_scores_its_patches_times_its_tests_squared():
    """Three patches pass t1: 3·1² = 3. One passes t1 and t2: 1·2² = 4. Two pass nothing: 2·0² = 0."""
    passed = {"a": ["t1"], "b": ["t1"], "c": ["t1"], "d": ["t2", "t1"], "e": [], "f": []}
    assert score_consensus(passed) == {
        frozenset({"t1"}): 3,
        frozenset({"t1", "t2"}): 4,
        frozenset(): 0,
    }
    assert keep_best_consensus(passed) == {"d"}


@pytest.mark.parametrize(
    ("passed", "kept"),
    [
        # 5·1² = 5 against 1·2² = 4: many patches outweigh one more test
        ({**dict.fromkeys("abcde", ("t1",)), "f": ["t1", "t2"]}, set("abcde")),
        # 4·1² = 4 against 1·2² = 4: a tie, which the majority decides
        ({**dict.fromkeys("abcd", ("t1",)), "f": ["t1", "t2"]}, set("abcdf")),
        # two groups of one test each: 2·1² = 2 against 1·1² = 1
        ({"a": ["t1"], "b": ["t1"], "c": ["t2"]}, {"a", "b"}),
        ({"a": [], "b": []}, {"a", "b"}),
        ({}, set()),
    ],
)
def test_the_groups_with_the_best_score_are_kept(passed, kept):
    assert keep_best_consensus(passed) == kept


@given(st.dictionaries(st.text(max_size=2), st.frozensets(st.sampled_from("tuv")), min_size=1))
def test_some_patch_is_always_kept_and_passes_a_test_if_any_does(passed):
    kept = keep_best_consensus(passed)
    assert kept
    assert any(passed.values()) == all(passed[patch] for patch in kept)


def test_a_patch_that_breaks_tests_wins_by_no_reproduction_test():
    """`d` passes most and breaks one test more. Of the others {a, b} scores 2·1² = 2, {c} 1·0² = 0."""
    broken = {"a": 0, "b": 0, "c": 0, "d": 1, "e": None}
    passed = {"a": ["t1"], "b": ["t1"], "c": [], "d": ["t1", "t2"], "e": ["t1", "t2"]}
    assert rerank_patches(broken, passed) == RerankedPatches(frozenset("ab"), 3, 2)
