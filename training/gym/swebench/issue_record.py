"""What was measured on one issue: its base, its tests, and each run of each candidate (pure).

A record is one JSON file. A killed import continues from these files.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from model import typed_json
from training.gym.swebench.benchmark_issue import BenchmarkIssue
from training.gym.swebench.release import Release

_RECIPE = 2
"""Counts up when the recipe measures something else. Older records are measured again."""


@dataclass(frozen=True, slots=True)
class PatchRun:
    """One run of an issue's tests with a candidate."""

    failed: tuple[str, ...] = ()
    """Fail-to-pass tests that do not pass."""
    broken: tuple[str, ...] = ()
    """Pass-to-pass tests that do not pass."""
    lost: tuple[str, ...] = ()
    """Regression tests that do not pass: those of the base tree, whatever the true patch does to them."""
    unknown: str | None = None
    """Why the run says nothing; None for a run that may be believed."""
    seconds: float = 0.0

    @property
    def resolves(self) -> bool | None:
        """Whether every test passes; None when that is not known."""
        return None if self.unknown is not None else not self.failed and not self.broken


@dataclass(frozen=True, slots=True)
class CandidateRecord:
    """The runs of one labelled patch."""

    id: str
    label: bool
    """Whether the benchmark says that the patch resolves the issue."""
    refusal: str | None = None
    """Why the patch was not run."""
    runs: tuple[PatchRun, ...] = ()


@dataclass(frozen=True, slots=True)
class IssueRecord:
    """Everything that was measured on one issue."""

    id: str
    key: str
    refusal: str | None = None
    """Why the issue gives no task."""
    base: str = ""
    labels: tuple[str, ...] = ()
    """The test modules that the issue touches, or classes of them, as arguments of the test command."""
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    regression: tuple[str, ...] = ()
    """Tests of the base tree that pass there and that the test patch leaves as they are."""
    missing: tuple[str, ...] = ()
    """Names of the benchmark's tests that do not fail on the base and pass with the true patch here."""
    seconds: float = 0.0
    """Wall-clock seconds of the run with the true patch."""
    candidates: tuple[CandidateRecord, ...] = ()

    def count_repeats(self) -> int:
        """Return how often every candidate that can run was run."""
        return min((len(item.runs) for item in self.candidates if item.refusal is None), default=99)

    def add_run(self, number: int, run: PatchRun) -> "IssueRecord":
        """Return the record with one more run of the candidate at this place."""
        records = list(self.candidates)
        records[number] = replace(records[number], runs=(*records[number].runs, run))
        return replace(self, candidates=tuple(records))


def compute_key(issue: BenchmarkIssue, releases: Sequence[Release]) -> str:
    """Return a hash of everything that a record depends on."""
    parts = [_RECIPE, asdict(issue), [release.version for release in releases]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def format_record(record: IssueRecord) -> str:
    """Return a record as JSON text."""
    return json.dumps(typed_json.dump(record), sort_keys=True) + "\n"


def parse_record(text: str) -> IssueRecord:
    """Return the record of a JSON text. Raises ValueError or TypeError that name the field."""
    return typed_json.read(IssueRecord, json.loads(text))
