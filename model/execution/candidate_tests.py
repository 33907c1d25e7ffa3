"""Run the base's tests on the base and on every candidate of an issue, side by side on the cores that are free."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from model.domain import Patch, PatchId
from model.errors import BadDiff, PatchDoesNotApply
from model.execution.patch_screening import find_forbidden_code, keep_code
from model.execution.regression import (
    Baseline,
    RegressionEvidence,
    build_baseline,
    compare,
)
from model.execution.suite_command import SuiteCommand
from model.execution.suite_process import run_tests
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

    `parallel` is the number of runs at the same time; None takes one for each core. `on_run` gets the number of
    finished runs and of all runs. `baseline` is that of an earlier call on the same tree; None runs the tests on the
    base. Once `keep_going` returns False, every run ends, and what it would have shown is unknown. The call blocks.
    Raises NoBaseline and NoSandbox.
    """
    base_runs = 0 if baseline else base_runs
    total, done = base_runs + len(candidates), 0
    with (
        share_tree(tree) as shared,
        ThreadPoolExecutor(parallel or os.cpu_count() or 1) as pool,
    ):

        def count(_result: object) -> None:
            nonlocal done
            done += 1
            on_run(done, total)

        if baseline is None:
            unchanged = (shared, NO_CHANGES, command, keep_going)
            base = [pool.submit(run_tests, *unchanged) for _ in range(base_runs)]
            for future in base:
                future.add_done_callback(count)
            baseline = build_baseline([future.result() for future in base])
        patched = [
            pool.submit(_test_patch, shared, patch, command, baseline, keep_going)
            for patch in candidates
        ]
        for run in patched:
            run.add_done_callback(count)
        results = [run.result() for run in patched]
    return CandidateTests(
        baseline, {patch.id: result for patch, result in zip(candidates, results, strict=True)}
    )


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
    return changes


def _test_patch(
    tree: SharedTree,
    patch: Patch,
    command: SuiteCommand,
    baseline: Baseline,
    keep_going: Callable[[], bool],
) -> RegressionEvidence:
    expected = len(baseline.stable)
    changes = prepare_changes(tree.folder, patch, baseline.list_files())
    if isinstance(changes, str):
        return RegressionEvidence(expected=expected, unknown=changes)
    try:
        return compare(baseline, run_tests(tree, changes, command, keep_going))
    except PatchDoesNotApply as error:
        return RegressionEvidence(expected=expected, unknown=f"the patch does not apply: {error}")
