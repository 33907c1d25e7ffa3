"""Where evidence about the candidates of one issue comes from: live runs of the tests, or a record of earlier runs."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from model.domain import Issue, Patch, PatchId
from model.execution import candidate_tests
from model.execution.regression import PatchEvidence
from model.execution.suite_command import SuiteCommand

OnRun = Callable[[int, int], None]
"""Gets the number of finished runs and of all runs."""


class EvidenceSource(Protocol):
    """What shows which tests pass with a patch."""

    @property
    def name(self) -> str:
        """What ran, in a few words, such as the test command."""
        ...

    @property
    def fingerprint(self) -> str:
        """12 hex digits that are equal for sources with the same tests."""
        ...

    def collect(
        self,
        issue: Issue,
        candidates: Sequence[Patch],
        on_run: OnRun = ...,
        keep_going: Callable[[], bool] = ...,
    ) -> Mapping[PatchId, PatchEvidence]:
        """Return the evidence about each candidate. Evidence that cannot be told is unknown, and never a failure.

        Once `keep_going` returns False, all runs end, and what they would have shown is unknown. Raises NoBaseline when the tests say nothing about the base, and NoSandbox.
        """
        ...


@dataclass(frozen=True, slots=True)
class LiveTests:
    """Runs of the tests of a source tree, in the sandbox, each time that they are asked for."""

    tree: Path
    """The source tree before the patches."""
    command: SuiteCommand
    text: str
    """The command as its user wrote it."""
    base_runs: int = candidate_tests.BASE_RUNS

    @property
    def name(self) -> str:
        """The test command."""
        return self.text

    @property
    def fingerprint(self) -> str:
        """A hash of the test command."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def collect(
        self,
        issue: Issue,  # noqa: ARG002 - the tests of the base do not depend on the issue
        candidates: Sequence[Patch],
        on_run: OnRun = lambda _done, _total: None,
        keep_going: Callable[[], bool] = lambda: True,
    ) -> dict[PatchId, PatchEvidence]:
        """Run the tests of the base on the base and on each candidate. Raises NoBaseline and NoSandbox."""
        results = candidate_tests.run_candidate_tests(
            self.tree,
            candidates,
            self.command,
            base_runs=self.base_runs,
            on_run=on_run,
            keep_going=keep_going,
        )
        return {patch: PatchEvidence(shown) for patch, shown in results.evidence.items()}
