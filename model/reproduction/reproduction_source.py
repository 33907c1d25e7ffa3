"""Evidence of live runs: the regression tests of a tree, and reproduction tests that somebody wrote for the issue."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from model.domain import Issue, Patch, PatchId
from model.execution.evidence_source import LiveTests, OnRun
from model.execution.regression import PatchEvidence
from model.prompts.fingerprint import combine_fingerprints
from model.reproduction.reproduction_runs import ScriptRuns, keep_reproducing, run_on_candidates
from model.reproduction.reproduction_test import IssueOutcome, KeptTests, ReproductionEvidence

_PASSES: Final = {
    IssueOutcome.RESOLVED: True,
    IssueOutcome.REPRODUCED: False,
    IssueOutcome.OTHER: False,
    IssueOutcome.UNKNOWN: None,
}


@dataclass(frozen=True, slots=True)
class LiveReproduction:
    """Runs of regression tests and of reproduction tests, in the sandbox, each time that they are asked for."""

    regression: LiveTests
    find_tests: Callable[[Issue], KeptTests]
    """Returns the tests that were written for an issue. Those that do not reproduce it on the base are dropped."""
    on_kept: Callable[[KeptTests], None] = lambda _kept: None
    """Gets the tests that count, and why the others do not."""

    @property
    def name(self) -> str:
        """The command of the regression tests."""
        return self.regression.name

    @property
    def fingerprint(self) -> str:
        """A hash of that command, which differs from that of `regression`."""
        return combine_fingerprints(self.regression.fingerprint, "reproduction")

    def collect(
        self,
        issue: Issue,
        candidates: Sequence[Patch],
        on_run: OnRun = lambda _done, _total: None,
        keep_going: Callable[[], bool] = lambda: True,
    ) -> dict[PatchId, PatchEvidence]:
        """Run all tests on the base and on each candidate. Raises NoBaseline and NoSandbox."""
        evidence = self.regression.collect(issue, candidates, on_run, keep_going)
        tree, command = self.regression.tree, self.regression.command
        runs = ScriptRuns(command, on_run=on_run, keep_going=keep_going)
        kept = keep_reproducing(tree, self.find_tests(issue), runs)
        self.on_kept(kept)
        if not kept.tests:
            return evidence
        return add_outcomes(evidence, run_on_candidates(tree, candidates, kept, runs))


def add_outcomes(
    evidence: dict[PatchId, PatchEvidence], results: ReproductionEvidence
) -> dict[PatchId, PatchEvidence]:
    """Return the evidence with the outcomes of the reproduction tests: resolved passes, another outcome fails."""
    names = [test.id for test in results.tests]
    return {
        patch: replace(
            shown,
            reproduction=tuple(
                zip(names, map(_PASSES.__getitem__, results.outcomes[patch]), strict=True)
            ),
        )
        for patch, shown in evidence.items()
    }
