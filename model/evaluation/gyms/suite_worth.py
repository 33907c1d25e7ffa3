"""How much the tests that ran tell about the patches of a labelled group (pure).

R2E-Gym, appendix C.3: distinguishability is equations 3 and 4, toxicity is equations 5 and 6.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from model.domain import PatchId
from model.evaluation.labelled_group import LabelledGroup
from model.execution.evidence_record import EvidenceFile
from model.execution.regression import PatchEvidence
from model.verifiers.execution_score import TestWorth, assess_test

REGRESSION, REPRODUCTION = "regression", "reproduction"


@dataclass(frozen=True, slots=True)
class TestSetWorth:
    """What the tests of one kind tell about one group."""

    __test__ = False  # no test of pytest's

    kind: str
    """`regression` or `reproduction`."""
    tests: int
    """Number of tests with known outcomes of a correct and of an incorrect patch."""
    distinguishing: tuple[str, ...] = ()
    """Ids of the reproduction tests that distinguish; empty for regression tests."""
    toxic: tuple[str, ...] = ()
    """Ids of the toxic tests."""
    distinguish: int = 0
    """Number of tests that distinguish."""

    @property
    def distinguishability(self) -> float | None:
        """The share of tests that distinguish (equation 4); None without a test."""
        return self.distinguish / self.tests if self.tests else None

    @property
    def toxicity(self) -> float | None:
        """The share of toxic tests (equation 6); None without a test."""
        return len(self.toxic) / self.tests if self.tests else None


def assess_tests(group: LabelledGroup, evidence: EvidenceFile) -> tuple[TestSetWorth, ...]:
    """Return what the recorded regression and reproduction tests tell about a group."""
    patches = [patch.patch for patch in group.patches]
    shown = evidence.select_task(group.instance_id).collect(group.issue, patches)
    correct = frozenset(patch.patch.id for patch in group.patches if patch.resolved)
    return assess_evidence(shown, correct)


def assess_evidence(
    evidence: Mapping[PatchId, PatchEvidence], correct: frozenset[PatchId]
) -> tuple[TestSetWorth, ...]:
    """Return what the tests of a group whose correct patches are `correct` tell, for each kind of test with results."""
    regression = _assess_regression(evidence, correct)
    reproduction = _summarise(REPRODUCTION, list(_list_reproduction(evidence, correct)))
    return tuple(worth for worth in (regression, reproduction) if worth.tests)


def _assess_regression(
    evidence: Mapping[PatchId, PatchEvidence], correct: frozenset[PatchId]
) -> TestSetWorth:
    broken = {
        patch: frozenset(shown.regression.broken)
        for patch, shown in evidence.items()
        if shown.regression.unknown is None
    }
    if not broken.keys() & correct or not broken.keys() - correct:
        return TestSetWorth(REGRESSION, 0)
    # A test that no patch breaks passes with every patch, so it neither distinguishes nor is toxic.
    worths = [
        (test, assess_test({patch: test not in tests for patch, tests in broken.items()}, correct))
        for test in sorted(frozenset().union(*broken.values()))
    ]
    tests = max(shown.regression.expected for shown in evidence.values())
    summary = _summarise(REGRESSION, worths)
    return TestSetWorth(REGRESSION, tests, (), summary.toxic, summary.distinguish)


def _list_reproduction(
    evidence: Mapping[PatchId, PatchEvidence], correct: frozenset[PatchId]
) -> Iterator[tuple[str, TestWorth | None]]:
    outcomes: dict[str, dict[PatchId, bool | None]] = {}
    for patch, shown in evidence.items():
        for test, passes in shown.reproduction:
            outcomes.setdefault(test, {})[patch] = passes
    for test, passing in outcomes.items():
        yield test, assess_test(passing, correct)


def _summarise(kind: str, worths: Sequence[tuple[str, TestWorth | None]]) -> TestSetWorth:
    assessed = [(test, worth) for test, worth in worths if worth is not None]
    distinguishing = tuple(test for test, worth in assessed if worth.distinguishes)
    toxic = tuple(test for test, worth in assessed if worth.is_toxic)
    return TestSetWorth(kind, len(assessed), distinguishing, toxic, len(distinguishing))
