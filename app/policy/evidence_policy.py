"""Decide what observed evidence does to a verdict (pure).

Evidence takes claims back. Tests that pass never make a patch correct: a wrong patch may keep them all. Tests that a patch
breaks make it incorrect only if the operator wants that and a rival breaks fewer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from app.github.facts import CommitCheck
from model.domain import (
    CiResult,
    CiState,
    ObservedEvidence,
    PatchId,
    PatchVerdict,
    RegressionResult,
    Verdict,
)
from model.execution.regression import describe_rewritten

_MOST_NAMES: Final = 10
_NAME_CHARACTERS: Final = 100


class EvidenceRule(StrEnum):
    """Why a patch cannot be claimed correct."""

    BREAKS_TESTS = "breaks_tests"
    """It breaks tests that pass on the base."""
    REWRITES_TESTS = "rewrites_tests"
    """It breaks only tests that it rewrites or removes itself."""
    FAILS_WRITTEN_TESTS = "fails_written_tests"
    """It passes no reproduction test, and a rival passes all of them."""
    CI_FAILED = "ci_failed"
    """A check of the repository's CI fails on its head, and not on the default branch."""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """What the tests of a whole group say about its patches."""

    passing: tuple[PatchId, ...] = ()
    """The patches that pass every reproduction test; none where there is no such test."""
    beaten: frozenset[PatchId] = frozenset()
    """The patches that are claimed incorrect, because they break more tests of the base than a rival."""


_NO_FACTS: Final = GroupFacts()


def compare_group(evidence: Mapping[PatchId, ObservedEvidence], *, tests_claim: bool) -> GroupFacts:
    """Return the facts about a group from the evidence about its patches.

    `tests_claim` says whether the operator lets tests claim a patch incorrect. The rule is that of the verifier
    `regression`: patches that break equally many tests are level, because the issue may ask for that change. A test that
    the patch itself rewrites or removes does not count.
    """
    broken = {
        patch: tests.broken - tests.rewritten
        for patch, shown in evidence.items()
        if (tests := shown.regression) and not _is_disputed(tests)
    }
    fewest = min(broken.values(), default=0)
    beaten = frozenset(patch for patch, count in broken.items() if count > fewest)
    return GroupFacts(find_passing(evidence), beaten if tests_claim else frozenset())


def find_passing(evidence: Mapping[PatchId, ObservedEvidence | None]) -> tuple[PatchId, ...]:
    """Return the patches of a group that pass every reproduction test, in order; none where there is no such test."""
    results = {patch: shown.reproduction for patch, shown in evidence.items() if shown}
    most = max((result.tests for result in results.values() if result), default=0)
    return tuple(patch for patch, result in results.items() if result and 0 < most == result.passed)


def _is_disputed(tests: RegressionResult) -> bool:
    """Return whether the patch breaks only tests that it rewrites or removes itself."""
    return bool(tests.broken) and tests.rewritten == tests.broken


def find_rule(evidence: ObservedEvidence, passing: Sequence[PatchId] = ()) -> EvidenceRule | None:
    """Return the first rule that forbids to claim the patch correct; None when there is none.

    `passing` are the patches of the group that pass every reproduction test.
    """
    if (tests := evidence.regression) is not None and tests.broken:
        return EvidenceRule.REWRITES_TESTS if _is_disputed(tests) else EvidenceRule.BREAKS_TESTS
    if passing and evidence.reproduction is not None and not evidence.reproduction.passed:
        return EvidenceRule.FAILS_WRITTEN_TESTS
    if evidence.ci is not None and evidence.ci.state is CiState.FAILED:
        return EvidenceRule.CI_FAILED
    return None


def weigh_evidence(patch: PatchVerdict, group: GroupFacts = _NO_FACTS) -> PatchVerdict:
    """Return the verdict that the evidence of `patch` allows: *unsure* in place of *correct* when a rule forbids it.

    A patch that is beaten in its `group` is *incorrect*. Neither has a probability, because the calibrator knows
    nothing of the evidence.
    """
    rule = find_rule(patch.evidence, group.passing) if patch.evidence is not None else None
    if rule is None or patch.verdict not in {Verdict.CORRECT, Verdict.UNSURE}:
        return patch
    is_beaten = patch.id in group.beaten
    reason = f"{_explain(rule, patch, group)} {patch.reason}"
    verdict = Verdict.INCORRECT if is_beaten else Verdict.UNSURE
    return replace(patch, verdict=verdict, probability=None, reason=reason)


def _explain(rule: EvidenceRule, patch: PatchVerdict, group: GroupFacts) -> str:
    consequence = "so the verdict does not claim it correct."
    tests = patch.evidence.regression if patch.evidence else None
    if rule in {EvidenceRule.BREAKS_TESTS, EvidenceRule.REWRITES_TESTS} and tests:
        own = describe_rewritten(tests.broken, tests.rewritten)
        broken = (
            f"It breaks {tests.broken:,} of {tests.expected:,} tests that pass on the base{own}"
        )
        if rule is EvidenceRule.REWRITES_TESTS:
            return f"{broken}. A maintainer has to say whether it may; {consequence}"
        if patch.id in group.beaten:
            consequence = "a rival breaks fewer, and the operator lets tests decide that."
        return f"{broken}; {consequence}"
    if rule is EvidenceRule.FAILS_WRITTEN_TESTS:
        names = ", ".join(group.passing[:_MOST_NAMES])
        return f"It passes no reproduction test, and {names} passes all; {consequence}"
    return f"A check of its CI fails; {consequence}"


def decide_ci(checks: Sequence[CommitCheck], base: Sequence[CommitCheck]) -> CiResult | None:
    """Return what CI says about a commit, from its checks and those of the default branch.

    A check that fails on the default branch too says nothing. The result is None when neither commit has any check: the
    repository has no CI that the bot can see.
    """
    if not checks:
        return CiResult(CiState.NOT_RUN) if base else None
    on_base = {check.name for check in base if check.state is CiState.FAILED}
    failed = [c.name for c in checks if c.state is CiState.FAILED and c.name not in on_base]
    passed = sum(check.state is CiState.PASSED for check in checks)
    states = {check.state for check in checks}
    if failed:
        names = tuple(name[:_NAME_CHARACTERS] for name in sorted(failed)[:_MOST_NAMES])
        return CiResult(CiState.FAILED, passed + len(failed), len(failed), names)
    if CiState.RUNNING in states:
        return CiResult(CiState.RUNNING, passed)
    return CiResult(CiState.PASSED if passed else CiState.NOT_RUN, passed)
