"""The equations of R2E-Gym about tests, by numbers computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.domain import PatchId
from model.execution.regression import PatchEvidence, RegressionEvidence
from model.verifiers.execution_score import (
    add_execution_free,
    assess_test,
    score_by_tests,
    select_best_regression,
)


def build_evidence(broken=0, reproduction="", *, unknown=None, rewritten=0):
    """Evidence of a patch that breaks `broken` of 10 tests and rewrites `rewritten` of them.

    `reproduction` has `+`, `-` or `?` for each test.
    """
    outcomes = ({"+": True, "-": False, "?": None}[mark] for mark in reproduction)
    names = tuple(f"old{n}" for n in range(broken))
    return PatchEvidence(
        RegressionEvidence(names, 10, unknown, rewritten=names[:rewritten]),
        tuple((f"new{n}", outcome) for n, outcome in enumerate(outcomes)),
    )


def score(**group):
    return score_by_tests({PatchId(name): found for name, found in group.items()})


def test_equation_1_counts_reproduction_tests_of_patches_with_the_best_regression():
    group = {
        "all": build_evidence(0, "+++"),
        "two": build_evidence(0, "++-"),
        "none": build_evidence(0, "---"),
        "breaks": build_evidence(1, "+++"),
    }
    assert score(**group) == {"all": 1.0, "two": 2 / 3, "none": 0.0, "breaks": 0.0}


def test_the_best_regression_of_a_group_may_break_tests():
    """The issue may ask for what an old test forbids, so that every good patch breaks it."""
    assert score(a=build_evidence(2, "+"), b=build_evidence(3, "+")) == {"a": 1.0, "b": 0.0}


def test_without_reproduction_tests_the_regression_tests_are_one():
    assert score(a=build_evidence(0), b=build_evidence(1)) == {"a": 1.0, "b": 0.0}


def test_a_broken_test_that_the_patch_rewrites_does_not_count():
    group = {
        "keeps": build_evidence(1, "+"),
        "part": build_evidence(3, "+", rewritten=2),
        "more": build_evidence(2, "+"),
        "all": build_evidence(5, "+", rewritten=5),
    }
    assert score(**group) == {"keeps": 1.0, "part": 1.0, "more": 0.0, "all": None}


def test_what_cannot_be_told_is_no_score():
    group = {
        "late": build_evidence(unknown="late"),
        "half": build_evidence(0, "+?"),
        "broken": build_evidence(1, "??"),
        "good": build_evidence(0, "++"),
    }
    assert score(**group) == {"late": None, "half": None, "broken": 0.0, "good": 1.0}
    assert select_best_regression({"late": group["late"]}) == frozenset()


@pytest.mark.parametrize(
    ("tests", "reproduction", "belief", "value"),
    [
        (1.0, 3, 0.5, 3.5 / 4),
        (2 / 3, 3, 1.0, 3 / 4),
        (0.0, 1, 0.8, 0.4),
        (1.0, 0, 0.3, 0.3),
        (0.0, 0, 0.9, 0.0),
    ],
)
def test_equation_2_by_hand(tests, reproduction, belief, value):
    assert add_execution_free(tests, reproduction, belief) == pytest.approx(value)


@given(st.integers(1, 200), st.data())
def test_equation_2_lets_no_belief_outvote_a_test(count, data):
    """The sum is compared as it is printed: a test counts 1, and the belief at most 1."""
    fewer = data.draw(st.integers(0, count - 1))
    low, high = (data.draw(st.floats(0, 1)) for _ in range(2))
    worse = add_execution_free(fewer / count, count, high)
    assert worse <= add_execution_free((fewer + 1) / count, count, low) + 1e-12


CASES = [
    ("r+ w-", (True, False)),
    ("r- w+", (True, True)),
    ("r+ w+", (False, False)),
    ("r- w-", (False, False)),
    ("r+ r- w- w-", (True, False)),
    ("r- r- w- w+", (True, True)),
    ("r+ r- w- w+", (False, False)),
    ("r+ r? w? w-", (True, False)),
]


@pytest.mark.parametrize(("text", "worth"), CASES, ids=[text for text, _ in CASES])
def test_equations_3_and_5_compare_the_best_patch_of_each_kind(text, worth):
    words = dict(enumerate(text.split()))
    outcomes = {
        PatchId(str(n)): {"+": True, "-": False, "?": None}[word[1]] for n, word in words.items()
    }
    correct = frozenset(PatchId(str(n)) for n, word in words.items() if word[0] == "r")
    found = assess_test(outcomes, correct)
    assert (found.distinguishes, found.is_toxic) == worth


@pytest.mark.parametrize("text", ["r+", "w-", "r? w-", "r+ w?"])
def test_a_test_is_worth_nothing_known_without_both_kinds(text):
    words = dict(enumerate(text.split()))
    outcomes = {str(n): {"+": True, "-": False, "?": None}[word[1]] for n, word in words.items()}
    assert assess_test(outcomes, frozenset(str(n) for n, w in words.items() if w[0] == "r")) is None
