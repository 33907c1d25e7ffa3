"""Let a language model write reproduction tests for a gym's task, and run them on the task's candidates.

The model sees the issue and one test file of the base tree: no candidate, no true patch and no test patch.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from model.domain import Issue, Patch
from model.execution.evidence_record import EvidenceRecord
from model.execution.suite_command import SuiteCommand
from model.gyms.gym_task import GymTask
from model.reproduction.reproduction_runs import ScriptRuns, keep_reproducing, run_on_candidates
from model.reproduction.reproduction_source import add_outcomes
from model.reproduction.reproduction_test import KeptTests, ReproductionEvidence

KEPT = "kept"
"""The key of `EvidenceRecord.written` for tests that reproduce the issue on the base."""
WriteTests = Callable[[Issue, Path], KeptTests]
"""Returns the tests that a model writes for an issue with a source tree."""


@dataclass(frozen=True, slots=True)
class TaskReproduction:
    """The tests that a model wrote for one task, and what they say about its candidates."""

    evidence: ReproductionEvidence = field(default_factory=ReproductionEvidence)
    counts: dict[str, int] = field(default_factory=dict)
    """Tests by what became of them: `kept`, or the reason why a test was dropped."""

    def add_to(self, record: EvidenceRecord, patch: Patch) -> EvidenceRecord:
        """Return the record of one candidate with the outcomes of the tests."""
        record = replace(record, written=self.counts)
        if not self.evidence.tests:
            return record
        shown = add_outcomes({patch.id: record.evidence}, self.evidence)
        return replace(record, evidence=shown[patch.id])


def reproduce_task(
    task: GymTask, tree: Path, candidates: Sequence[Patch], command: SuiteCommand, write: WriteTests
) -> TaskReproduction:
    """Let `write` write tests, and run those that reproduce the issue on each candidate. Raises EngineDown, NoSandbox."""
    runs = ScriptRuns(command, parallel=1)
    kept = keep_reproducing(tree, write(task.read_issue(), tree), runs)
    counts = Counter({str(reason): count for reason, count in kept.dropped.items()})
    counts[KEPT] = len(kept.tests)
    if not kept.tests:
        return TaskReproduction(counts=dict(counts))
    return TaskReproduction(run_on_candidates(tree, candidates, kept, runs), dict(counts))


def count_written(records: Sequence[EvidenceRecord]) -> dict[str, int]:
    """Return how many tests models wrote for the tasks of a record, by what became of them."""
    by_task = {record.task: record.written for record in records}
    total = Counter[str]()
    for counts in by_task.values():
        total.update(counts)
    return dict(sorted(total.items()))
