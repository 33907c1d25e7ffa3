"""Run the base's tests on the base and on every candidate of an issue, side by side on the cores of this process."""

import os
import posixpath
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from model.domain import Patch, PatchId
from model.errors import BadDiff, PatchDoesNotApply
from model.execution.regression import (
    Baseline,
    RegressionEvidence,
    build_baseline,
    compare,
)
from model.execution.run_slots import count_slots
from model.execution.screening.equality_screening import find_blind_equality
from model.execution.screening.patch_screening import (
    find_forbidden_code,
    find_forged_report,
    keep_code,
)
from model.execution.screening.rewritten_tests import mark_rewritten
from model.execution.suite_command import SuiteCommand
from model.execution.suite_process import run_tests
from model.execution.suite_run import SuiteRun
from model.execution.tree_changes import NO_CHANGES, TreeChanges, apply_diff
from model.execution.tree_copy import SharedTree, share_tree

BASE_RUNS: Final = 2
"""Runs on the base. A test that passes in some of them only is flaky and says nothing."""


@dataclass(frozen=True, slots=True)
class CandidateTests:
    """What the tests of the base say about each candidate."""

    baseline: Baseline
    evidence: dict[PatchId, RegressionEvidence]


def run_candidate_tests(  # noqa: PLR0913 - what runs, how often, side by side, and who may end it
    tree: Path,
    candidates: Sequence[Patch],
    command: SuiteCommand,
    *,
    base_runs: int = BASE_RUNS,
    parallel: int | None = None,
    on_run: Callable[[int, int], None] = lambda _done, _total: None,
    baseline: Baseline | None = None,
    keep_going: Callable[[], bool] = lambda: True,
) -> CandidateTests:
    """Run the tests of the folder `tree` on itself and with each candidate applied, and compare.

    `parallel` is the number of runs at the same time; None takes as many as cores and free memory allow. `on_run` gets
    the number of finished runs and of all runs. `baseline` is that of an earlier call on the same tree; None runs the
    tests on the base, and ends all of them as soon as one run fails. Once `keep_going` returns False, every run ends,
    and what it would have shown is unknown. The call blocks. Raises NoBaseline and NoSandbox.
    """
    base_runs = 0 if baseline else base_runs
    total, done = base_runs + len(candidates), 0
    with (
        share_tree(tree) as shared,
        ThreadPoolExecutor(parallel or count_slots(command)) as pool,
    ):

        def count(_result: object) -> None:
            nonlocal done
            done += 1
            on_run(done, total)

        if baseline is None:
            has_failed = Event()
            unchanged = (
                shared,
                NO_CHANGES,
                command,
                lambda: keep_going() and not has_failed.is_set(),
            )
            base = [pool.submit(run_tests, *unchanged) for _ in range(base_runs)]
            for future in base:
                future.add_done_callback(count)
            baseline = build_baseline(_collect(base, has_failed))
        patched = [
            pool.submit(_test_patch, shared, patch, command, baseline, keep_going)
            for patch in candidates
        ]
        for run in patched:
            run.add_done_callback(count)
        results = {patch.id: run.result() for patch, run in zip(candidates, patched, strict=True)}
    return CandidateTests(baseline, results)


def _collect(base: Sequence[Future[SuiteRun]], has_failed: Event) -> list[SuiteRun]:
    """Return the runs on the base; after one that failed, that one alone, while the event ends the others."""
    for future in as_completed(base):
        if future.result().failure is not None:
            has_failed.set()
            return [future.result()]
    return [future.result() for future in base]


def prepare_changes(
    tree: Path, patch: Patch, protected: frozenset[str] = frozenset()
) -> TreeChanges | str:
    """Return what a patch changes in the code of the folder `tree`, or a sentence that says why it is not run.

    Changes of tests are left out. `protected` holds further paths of tests.
    """
    try:
        changes = keep_code(apply_diff(tree, patch.diff), protected)
    except (BadDiff, PatchDoesNotApply) as error:
        return f"the patch does not apply: {error}"
    if not changes.paths:
        return "the patch changes tests only"
    if code := find_forbidden_code(changes):
        return f"new code reaches for what runs the tests: {code}"
    if method := find_blind_equality(changes):
        return f"new code compares equal without a look at both values: {method}"
    return changes


def list_named_files(tree: Path, command: SuiteCommand) -> frozenset[str]:
    """Return the paths of the tree's files that the command names, such as a script or a configuration of pytest."""
    words = [word.rpartition("=")[2].partition("::")[0] for word in command.arguments]
    paths = map(posixpath.normpath, words)
    # Unlike Path.is_file, this takes a word that is too long for a path, such as an expression of -k.
    return frozenset(path for path in paths if os.path.isfile(tree / path))  # noqa: PTH113


def _test_patch(
    tree: SharedTree,
    patch: Patch,
    command: SuiteCommand,
    baseline: Baseline,
    keep_going: Callable[[], bool],
) -> RegressionEvidence:
    expected = len(baseline.stable)
    protected = baseline.list_files() | list_named_files(tree.folder, command)
    changes = prepare_changes(tree.folder, patch, protected)
    if isinstance(changes, str):
        return RegressionEvidence(expected=expected, unknown=changes)
    if command.report and (doubt := find_forged_report(changes, command.report)):
        reason = f"the patch reaches for the report of the tests: {doubt}"
        return RegressionEvidence(expected=expected, unknown=reason)
    try:
        evidence = compare(baseline, run_tests(tree, changes, command, keep_going))
        if not evidence.broken:
            return evidence
        return mark_rewritten(evidence, apply_diff(tree.folder, patch.diff), tree.folder)
    except PatchDoesNotApply as error:
        return RegressionEvidence(expected=expected, unknown=f"the patch does not apply: {error}")
