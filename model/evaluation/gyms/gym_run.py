"""Run the tests of a gym's tasks on their candidates, and record what each run shows. A stopped run can continue."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from model.domain import Patch, PatchId
from model.errors import BadDiff, BadSuiteCommand, NoBaseline, PatchDoesNotApply
from model.evaluation.gyms.gym_groups import list_candidates
from model.evaluation.gyms.gym_reproduction import (
    WriteTests,
    count_written,
    reproduce_task,
)
from model.execution import candidate_tests
from model.execution.candidate_tests import prepare_changes, run_candidate_tests
from model.execution.evidence_record import EvidenceRecord, RecordFile, hash_patch
from model.execution.regression import Baseline, PatchEvidence, RegressionEvidence
from model.execution.screening.rewritten_tests import mark_rewritten
from model.execution.suite_command import SECONDS, Runner, SuiteCommand, parse_command
from model.execution.suite_process import run_tests
from model.execution.suite_run import Outcome
from model.execution.tree_changes import TreeChanges, apply_diff
from model.gyms.gym_folder import Gym, TaskTrees
from model.gyms.gym_task import GymTask

_LEAST_SECONDS: Final = 30.0
_PATIENCE: Final = 10.0
"""Tests may take this many times as long with a patch as on the base, and at least _LEAST_SECONDS."""
Outcomes = tuple[tuple[str, bool | None], ...]


@dataclass(frozen=True, slots=True)
class GymRunPlan:
    """How the tests of a gym run."""

    find_python: Callable[[str], Path | None]
    """Returns the interpreter of a test environment, by the environment's name. None takes this process's own."""
    command: str | None = None
    """The command of the regression tests; None takes that of each task."""
    base_runs: int = candidate_tests.BASE_RUNS
    seconds: float = SECONDS
    """Time limit of one run."""
    parallel: int = 1
    """Number of tasks at the same time. Each has one run at a time."""
    write_tests: WriteTests | None = None
    """Writes reproduction tests, which run on each candidate as well; None runs the gym's own tests only."""


def run_gym(
    gym: Gym,
    trees: TaskTrees,
    plan: GymRunPlan,
    file: RecordFile,
    on_candidate: Callable[[int], None] = lambda _done: None,
) -> None:
    """Test every candidate of every task that `file` does not hold yet, and add it to `file`.

    `on_candidate` gets the number of finished candidates each time the number grows. Raises BadGym, EngineDown and
    NoSandbox; what was tested stays in the file.
    """
    recorded = {(record.task, record.patch, record.command) for record in file.records}
    waiting = {task.id: _list_waiting(task, plan, recorded) for task in gym.tasks}
    done = sum(len(list_candidates(task)) - len(waiting[task.id]) for task in gym.tasks)
    on_candidate(done)
    with ThreadPoolExecutor(plan.parallel) as pool:
        futures = [
            pool.submit(_run_task, task, waiting[task.id], trees, plan)
            for task in gym.tasks
            if waiting[task.id]
        ]
        for records in _iterate_results(futures):
            for record in records:
                file.add(record)
            done += len(records)
            on_candidate(done)


def summarise_run(records: Sequence[EvidenceRecord]) -> dict[str, Any]:
    """Return the counts of a record: tasks, candidates, and the unknown ones by their reason."""
    reasons = Counter(
        (record.evidence.regression.unknown or record.fail_to_pass_unknown or "").partition(":")[0]
        for record in records
    )
    reasons.pop("", None)
    return {
        "schema": "r4p.gym-counts/1",
        "tasks": len({record.task for record in records}),
        "candidates": len(records),
        "resolved": sum(record.is_resolved is True for record in records),
        "unknown": sum(reasons.values()),
        "reasons": dict(sorted(reasons.items())),
        **({"written": written} if (written := count_written(records)) else {}),
    }


def _iterate_results(
    futures: Sequence[Future[list[EvidenceRecord]]],
) -> Iterator[list[EvidenceRecord]]:
    """Yield results as they come. After a failure the tasks that have not begun are left out."""
    try:
        for future in as_completed(futures):
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _list_waiting(
    task: GymTask, plan: GymRunPlan, recorded: set[tuple[str, str, str]]
) -> list[Patch]:
    text = plan.command or task.command
    return [
        Patch(PatchId(candidate.id), candidate.patch)
        for candidate in list_candidates(task)
        if (task.id, hash_patch(candidate.patch), text) not in recorded
    ]


def _run_task(
    task: GymTask, candidates: Sequence[Patch], trees: TaskTrees, plan: GymRunPlan
) -> list[EvidenceRecord]:
    text = plan.command or task.command
    with TemporaryDirectory(prefix="r4p-gym-run-") as home:
        tree = Path(home) / "tree"
        trees.check_out(task.id, tree)
        try:
            parsed = parse_command(text)
            command = replace(
                parsed, python=plan.find_python(task.environment), seconds=plan.seconds
            )
            baseline = run_candidate_tests(
                tree, (), command, base_runs=plan.base_runs, parallel=1
            ).baseline
        except (NoBaseline, BadSuiteCommand) as error:
            unknown = RegressionEvidence(unknown=str(error))
            return [_build_record(task, patch, text, unknown) for patch in candidates]
        seconds = min(plan.seconds, max(_LEAST_SECONDS, _PATIENCE * baseline.seconds))
        command = replace(command, seconds=seconds)
        records = [
            _test_candidate(task, patch, tree, command, text, baseline) for patch in candidates
        ]
        if plan.write_tests is None:
            return records
        shown = reproduce_task(task, tree, candidates, command, plan.write_tests)
        pairs = zip(records, candidates, strict=True)
        return [shown.add_to(record, patch) for record, patch in pairs]


def _test_candidate(
    task: GymTask, patch: Patch, tree: Path, command: SuiteCommand, text: str, baseline: Baseline
) -> EvidenceRecord:
    started = time.monotonic()
    result = run_candidate_tests(tree, [patch], command, baseline=baseline, parallel=1)
    outcomes, reason = _run_fail_to_pass(task, patch, tree, command)
    evidence = _mark_rewritten(task, tree, result.evidence[patch.id])
    record = _build_record(task, patch, text, evidence)
    seconds = round(time.monotonic() - started, 2)
    return replace(record, fail_to_pass=outcomes, fail_to_pass_unknown=reason, seconds=seconds)


def _mark_rewritten(task: GymTask, tree: Path, evidence: RegressionEvidence) -> RegressionEvidence:
    """Return the evidence with the broken tests that the task's test patch rewrites or removes.

    Candidates bring no tests. Each is taken to bring those of the true patch, so that the rule favours none of them.
    """
    if not evidence.broken:
        return evidence
    try:
        return mark_rewritten(evidence, apply_diff(tree, task.test_patch), tree)
    except (BadDiff, PatchDoesNotApply):
        return evidence


def _build_record(
    task: GymTask, patch: Patch, text: str, evidence: RegressionEvidence
) -> EvidenceRecord:
    return EvidenceRecord(
        task=task.id,
        candidate=patch.id,
        patch=hash_patch(patch.diff),
        command=text,
        evidence=PatchEvidence(evidence),
    )


def _run_fail_to_pass(
    task: GymTask, patch: Patch, tree: Path, command: SuiteCommand
) -> tuple[Outcomes, str | None]:
    """Run the files of the fail-to-pass tests with the test patch and one candidate; return outcomes, or why not.

    A test that does not pass, or is not found, fails.
    """
    nothing = tuple((test, None) for test in task.fail_to_pass)
    try:
        tests = apply_diff(tree, task.test_patch)
    except (BadDiff, PatchDoesNotApply) as error:
        return nothing, f"the test patch does not apply: {error}"
    changes = prepare_changes(tree, patch, tests.paths)
    if isinstance(changes, str):
        return nothing, changes
    try:
        arguments = _list_fail_to_pass_arguments(task)
        run = run_tests(tree, _join(changes, tests), replace(command, arguments=arguments))
    except PatchDoesNotApply as error:
        return nothing, f"the patch does not apply: {error}"
    if run.failure is not None:
        return nothing, run.failure
    passed: Mapping[str, Outcome] = run.outcomes
    return tuple((test, passed.get(test) is Outcome.PASSED) for test in task.fail_to_pass), None


def _list_fail_to_pass_arguments(task: GymTask) -> tuple[str, ...]:
    """Return the arguments of the test runner that run the files of the fail-to-pass tests."""
    command = parse_command(task.command)
    if command.runner is not Runner.PYTEST:
        return command.arguments
    files = sorted({test.partition("::")[0] for test in task.fail_to_pass})
    return (*command.arguments, *files)


def _join(code: TreeChanges, tests: TreeChanges) -> TreeChanges:
    return TreeChanges(
        {**code.written, **tests.written},
        (*code.deleted, *tests.deleted),
        {**code.before, **tests.before},
        code.executable | tests.executable,
    )
