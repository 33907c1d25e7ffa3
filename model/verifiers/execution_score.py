"""Scores from tests that ran, and what a test is worth for telling correct patches from incorrect ones (pure).

R2E-Gym, section 4.1, equation 1, and appendix C.3, equations 3 to 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from model.domain import PatchId
from model.execution.regression import PatchEvidence

Evidence = Mapping[PatchId, PatchEvidence]


def select_best_regression(evidence: Evidence) -> frozenset[PatchId]:
    """Return the ids of the patches with the most passing regression tests, among those whose tests decide.

    A broken test that the patch itself rewrites or removes does not count against it.
    """
    passing = {
        patch: shown.regression.expected
        - len(shown.regression.broken)
        + len(shown.regression.rewritten)
        for patch, shown in evidence.items()
        if shown.regression.is_known
    }
    most = max(passing.values(), default=0)
    return frozenset(patch for patch, count in passing.items() if count == most)


def score_by_tests(evidence: Evidence) -> dict[PatchId, float | None]:
    """Compute each patch's execution-based score (R2E-Gym, equation 1), from 0 to 1.

    The score is the number of reproduction tests that the patch passes, or 0 unless its number of passing regression
    tests is the highest of the group. Here the number is divided by all reproduction tests, which changes no order.
    Without a reproduction test the equation gives 0 to every patch; here the regression tests as a whole then count as
    one test. None means that the tests which decide could not be told, or
    that the patch breaks only tests that it rewrites or removes itself.
    """
    best = select_best_regression(evidence)
    return {patch: _score(shown, is_best=patch in best) for patch, shown in evidence.items()}


def _score(evidence: PatchEvidence, *, is_best: bool) -> float | None:
    if not evidence.regression.is_known:
        return None
    if not is_best:
        return 0.0
    outcomes = [passes for _, passes in evidence.reproduction]
    results = [passes for passes in outcomes if passes is not None]
    if len(results) < len(outcomes):
        return None
    return sum(results) / len(results) if results else 1.0


def add_execution_free(tests: float, reproduction: int, belief: float) -> float:
    """Compute the hybrid score of a patch on the shortlist (R2E-Gym, equation 2), scaled to 0 to 1.

    `tests` is the score of `score_by_tests` with `reproduction` tests, and `belief` the execution-free score from 0 to
    1. The equation adds the belief to the number of passing tests. Without a reproduction test the number is 0 for
    every patch, so here the regression tests decide alone whether the belief counts.
    """
    if not reproduction:
        return tests * belief
    return (tests * reproduction + belief) / (reproduction + 1)


@dataclass(frozen=True, slots=True)
class TestWorth:
    """What one test tells about the patches of a group whose truth is known."""

    __test__ = False  # no test of pytest's

    distinguishes: bool
    """The best incorrect patch fares differently from the best correct patch (equation 3)."""
    is_toxic: bool
    """An incorrect patch passes, and no correct patch does (equation 5)."""


def assess_test(
    outcomes: Mapping[PatchId, bool | None], correct: frozenset[PatchId]
) -> TestWorth | None:
    """Return what one test is worth in a group whose correct patches are `correct`.

    `outcomes` says for each patch whether it passes the test; None is unknown and does not count. The result is None
    unless the outcomes of a correct and of an incorrect patch are known.
    """
    right = [
        passes for patch, passes in outcomes.items() if passes is not None and patch in correct
    ]
    wrong = [
        passes for patch, passes in outcomes.items() if passes is not None and patch not in correct
    ]
    if not right or not wrong:
        return None
    return TestWorth(max(wrong) != max(right), max(wrong) > max(right))
