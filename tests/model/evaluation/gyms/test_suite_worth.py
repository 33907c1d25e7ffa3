"""Distinguishability and toxicity of a group's tests, by hand (R2E-Gym, equations 3 to 6)."""

import numpy as np
import pytest

from model.evaluation.gyms.suite_worth import TestSetWorth, assess_evidence
from model.execution.regression import PatchEvidence, RegressionEvidence

CORRECT = frozenset({"right", "right too"})


def build(broken="", reproduction="", unknown=None):
    outcomes = ({"+": True, "-": False, "?": None}[mark] for mark in reproduction)
    return PatchEvidence(
        RegressionEvidence(tuple(broken), 4, unknown),
        tuple((f"new{n}", outcome) for n, outcome in enumerate(outcomes)),
    )


def test_both_rates_of_both_kinds_of_test():
    evidence = {
        "right": build("a", "+--+"),
        "right too": build("ab", "---+"),
        "wrong": build("bc", "-+-+"),
        "wrong too": build("c", "--?+"),
    }
    regression, reproduction = assess_evidence(evidence, CORRECT)
    # a: both right patches break it, no wrong one does; b: one of each passes; c: only wrong ones break it; d: none
    assert regression == TestSetWorth("regression", 4, (), ("a",), 2)
    assert (regression.distinguishability, regression.toxicity) == (0.5, 0.25)
    # new0 tells right from wrong, new1 the other way round, new2 nobody passes, new3 everybody
    assert reproduction == TestSetWorth("reproduction", 4, ("new0", "new1"), ("new1",), 2)
    assert (reproduction.distinguishability, reproduction.toxicity) == (0.5, 0.25)


@pytest.mark.parametrize(
    "evidence",
    [
        {"right": build("a", "+")},
        {"wrong": build("a", "+")},
        {"right": build("a", "?"), "wrong": build(unknown="late")},
        {},
    ],
)
def test_nothing_is_said_without_results_of_both_sides(evidence):
    assert assess_evidence(evidence, CORRECT) == ()


def test_random_outcomes_agree_with_the_equations_written_as_they_are_printed():
    randomness = np.random.default_rng(0)
    patches = ["right", "right too", "w1", "w2", "w3"]
    for _ in range(200):
        passes = randomness.random((len(patches), 6)) < 0.5
        evidence = {
            patch: PatchEvidence(
                RegressionEvidence(), tuple((f"t{n}", bool(x)) for n, x in enumerate(row))
            )
            for patch, row in zip(patches, passes, strict=True)
        }
        best_right, best_wrong = passes[:2].max(axis=0), passes[2:].max(axis=0)
        (worth,) = assess_evidence(evidence, CORRECT)
        assert worth.distinguishability == pytest.approx((best_right != best_wrong).mean())
        assert worth.toxicity == pytest.approx((best_wrong > best_right).mean())
