"""Decide what observed evidence does to a verdict (pure).

Evidence only takes claims back. Tests that pass never make a patch correct: a wrong patch may keep them all.
"""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from app.github.facts import CommitCheck
from model.domain import CiResult, CiState, ObservedEvidence, PatchVerdict, Verdict
from model.execution.regression import describe_rewritten

_MOST_NAMES: Final = 10
_NAME_CHARACTERS: Final = 100


class EvidenceRule(StrEnum):
    """Why a patch cannot be claimed correct."""

    BREAKS_TESTS = "breaks_tests"
    """It breaks tests that pass on the base."""
    REWRITES_TESTS = "rewrites_tests"
    """It breaks only tests that it rewrites or removes itself."""
    CI_FAILED = "ci_failed"
    """A check of the repository's CI fails on its head, and not on the default branch."""


def find_rule(evidence: ObservedEvidence) -> EvidenceRule | None:
    """Return the first rule that forbids to claim the patch correct; None when there is none."""
    if (tests := evidence.regression) is not None and tests.broken:
        is_disputed = tests.rewritten == tests.broken
        return EvidenceRule.REWRITES_TESTS if is_disputed else EvidenceRule.BREAKS_TESTS
    if evidence.ci is not None and evidence.ci.state is CiState.FAILED:
        return EvidenceRule.CI_FAILED
    return None


def weigh_evidence(patch: PatchVerdict) -> PatchVerdict:
    """Return the verdict that the evidence of `patch` allows: *unsure* in place of *correct* when a rule forbids it.

    The patch then has no probability, because the calibrator knows nothing of the evidence.
    """
    rule = find_rule(patch.evidence) if patch.evidence is not None else None
    if rule is None or patch.verdict is not Verdict.CORRECT:
        return patch
    reason = f"{_explain(rule, patch.evidence)} {patch.reason}"
    return replace(patch, verdict=Verdict.UNSURE, probability=None, reason=reason)


def _explain(rule: EvidenceRule, evidence: ObservedEvidence | None) -> str:
    if rule is not EvidenceRule.CI_FAILED and evidence and (tests := evidence.regression):
        own = describe_rewritten(tests.broken, tests.rewritten)
        broken = (
            f"It breaks {tests.broken:,} of {tests.expected:,} tests that pass on the base{own}"
        )
        if rule is EvidenceRule.REWRITES_TESTS:
            return f"{broken}. A maintainer has to say whether it may; so the verdict does not claim it correct."
        return f"{broken}; so the verdict does not claim it correct."
    return "A check of its CI fails; so the verdict does not claim it correct."


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
