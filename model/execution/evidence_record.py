"""The record of tests that ran on the candidates of a gym's tasks, `r4p.gym-run/1`: JSON lines, one a candidate.

`r4p gym run` writes it, and `r4p evaluate --evidence` reads it. A line is on disk as soon as its candidate is tested.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from model import typed_json
from model.domain import Issue, Patch, PatchId
from model.errors import BadRun
from model.execution.evidence_source import OnRun
from model.execution.regression import PatchEvidence, RegressionEvidence

SCHEMA: Final = "r4p.gym-run/1"
_NOT_RECORDED: Final = "the record holds no run of this patch; run `r4p gym run` again"


@dataclass(frozen=True, slots=True)
class EvidenceRecord:
    """The tests that ran on one candidate of one gym task."""

    task: str
    candidate: str
    patch: str
    """SHA-256 of the candidate's diff."""
    command: str
    """The command of the regression tests."""
    evidence: PatchEvidence
    fail_to_pass: tuple[tuple[str, bool | None], ...] = ()
    """The fail-to-pass tests of the task: the id of each, and whether it passes with the patch. None is unknown."""
    fail_to_pass_unknown: str | None = None
    """Why an outcome of `fail_to_pass` is unknown, for a person."""
    written: Mapping[str, int] = field(default_factory=dict)
    """Reproduction tests that a model wrote for the task: `kept`, or dropped for a reason. Empty if none was asked for."""
    seconds: float = 0.0
    """Wall-clock seconds of the candidate's runs."""
    schema: str = SCHEMA

    @property
    def is_resolved(self) -> bool | None:
        """Whether every fail-to-pass test passes; None where one is unknown or there is none."""
        outcomes = [passes for _, passes in self.fail_to_pass]
        if False in outcomes:
            return False
        return None if None in outcomes or not outcomes else True


def hash_patch(diff: str) -> str:
    """Return the SHA-256 of a diff, by which a record finds its patch. A missing last line end makes no difference."""
    return hashlib.sha256(f"{diff.rstrip()}\n".encode(errors="surrogateescape")).hexdigest()


def read_records(path: Path) -> list[EvidenceRecord]:
    """Read a record of runs. A last line that a killed run left half written is ignored. Raises BadRun."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    except (OSError, UnicodeDecodeError) as error:
        raise BadRun(
            f"record {path} can't be read ({error}); give the file of `r4p gym run`"
        ) from error
    return [
        _parse_line(line, f"record {path}, line {number}") for number, line in enumerate(lines, 1)
    ]


def _parse_line(line: str, where: str) -> EvidenceRecord:
    try:
        record = typed_json.read(EvidenceRecord, json.loads(line))
    except (ValueError, TypeError, RecursionError) as error:
        raise BadRun(f"{where} is no run of tests ({error}); give another file") from error
    if record.schema != SCHEMA:
        raise BadRun(f"{where} has the schema {record.schema[:40]!r}, not {SCHEMA}")
    return record


class RecordFile:
    """A record of runs that is open and locked for appending."""

    def __init__(self, records: Sequence[EvidenceRecord], descriptor: int) -> None:
        self.records = records
        """What the file held when it was opened."""
        self._descriptor = descriptor

    def add(self, record: EvidenceRecord) -> None:
        """Append one line. It is on disk when the call returns."""
        line = (json.dumps(typed_json.dump(record), sort_keys=True) + "\n").encode()
        while line:
            line = line[os.write(self._descriptor, line) :]  # os.write may write only a part
        os.fsync(self._descriptor)


@contextmanager
def open_record(path: Path) -> Iterator[RecordFile]:
    """Open and lock a record for appending, and cut off a half-written last line. Raises BadRun."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise BadRun(f"record {path} can't be written: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadRun(
                f"record {path} is being written by another run; wait for it, or name another file"
            ) from error
        records = read_records(path)
        os.ftruncate(descriptor, path.read_bytes().rfind(b"\n") + 1)
        yield RecordFile(records, descriptor)
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class RecordedTests:
    """The runs of one record about the candidates of one task."""

    records: Mapping[str, EvidenceRecord]
    """Records by the SHA-256 of the diff."""
    fingerprint: str

    @property
    def name(self) -> str:
        """A name for all records: the fingerprint tells them apart."""
        return "recorded tests"

    def collect(
        self,
        issue: Issue,  # noqa: ARG002 - the record was chosen for the issue
        candidates: Sequence[Patch],
        on_run: OnRun = lambda _done, _total: None,  # noqa: ARG002 - nothing runs
        keep_going: Callable[[], bool] = lambda: True,  # noqa: ARG002 - nothing takes time
    ) -> dict[PatchId, PatchEvidence]:
        """Return the recorded evidence. A patch without a record is unknown."""
        missing = PatchEvidence(RegressionEvidence(unknown=_NOT_RECORDED))
        return {
            patch.id: record.evidence
            if (record := self.records.get(hash_patch(patch.diff)))
            else missing
            for patch in candidates
        }


@dataclass(frozen=True, slots=True)
class EvidenceFile:
    """A record of runs on many tasks."""

    tasks: Mapping[str, Mapping[str, EvidenceRecord]]
    """Records by task and by the SHA-256 of the diff."""
    fingerprint: str
    """A hash of the file's content."""

    def select_task(self, task: str) -> RecordedTests:
        """Return the evidence about one task, which is empty for a task without a record."""
        return RecordedTests(self.tasks.get(task, {}), self.fingerprint)

    def warn_of_gaps(self, patches: Collection[tuple[str, str]]) -> str | None:
        """Return a warning if the record lacks some of the patches, each a task and a diff; else None."""
        missing = sum(hash_patch(diff) not in self.tasks.get(task, {}) for task, diff in patches)
        if not missing:
            return None
        return (
            f"The record holds no tests of {missing} of {len(patches)} patches, which are judged without them. "
            "Continue it by `r4p gym run`."
        )


def read_evidence(path: Path, *, with_fail_to_pass: bool = False) -> EvidenceFile:
    """Read a record as evidence. Raises BadRun.

    `with_fail_to_pass` puts the fail-to-pass tests in the place of the reproduction tests. They decide the truth, so
    this only shows that a verifier believes a perfect test.
    """
    records = read_records(path)
    if not records:
        raise BadRun(f"record {path} is empty; run `r4p gym run` first")
    tasks: dict[str, dict[str, EvidenceRecord]] = {}
    for record in records:
        if with_fail_to_pass:
            evidence = replace(record.evidence, reproduction=record.fail_to_pass)
            record = replace(record, evidence=evidence)  # noqa: PLW2901
        tasks.setdefault(record.task, {})[record.patch] = record
    content = f"{with_fail_to_pass}".encode() + path.read_bytes()
    return EvidenceFile(tasks, hashlib.sha256(content).hexdigest()[:12])
