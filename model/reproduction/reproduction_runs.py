"""Run reproduction tests on the base and on every candidate, each in a sandbox of its own."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from model.domain import Patch, PatchId
from model.errors import PatchDoesNotApply
from model.execution.candidate_tests import prepare_changes
from model.execution.suite_command import Runner, SuiteCommand
from model.execution.suite_process import run_in_copy
from model.execution.suite_run import SuiteRun
from model.execution.tree_changes import TreeChanges
from model.execution.tree_copy import copy_tree
from model.reproduction.reproduction_test import (
    DropReason,
    IssueOutcome,
    KeptTests,
    ReproductionEvidence,
    ReproductionTest,
    find_drop_reason,
    read_outcome,
)

SECONDS: Final = 30.0
"""Time limit of a test on the base."""
_LEAST_SECONDS: Final = 10.0
_PATIENCE: Final = 10.0
"""A test may take this many times as long with a patch as on the base."""
_LATE_RUNS: Final = 2
"""After so many runs without a result, the other tests of a patch are not run: the patch may hang in each."""
_FOLDER: Final = ".r4p-reproduction"
"""Folder of the tests in a copy of the tree."""
_NEUTRAL: Final = b"\n# This comment changes no behaviour.\n"


@dataclass(frozen=True, slots=True)
class ScriptRuns:
    """How reproduction tests are run: the environment of the repository's own tests, and the cores to use."""

    command: SuiteCommand
    """The repository's test command. Its interpreter, variables and limits count."""
    parallel: int | None = None
    """Number of runs at the same time; None takes one for each core."""
    on_run: Callable[[int, int], None] = lambda _done, _total: None
    """Receives the number of finished steps and of all steps."""
    keep_going: Callable[[], bool] = lambda: True
    """Once it returns False, every run ends, and what it would have shown is unknown."""

    def open_pool(self) -> ThreadPoolExecutor:
        """Return a pool of threads with one run at a time each."""
        return ThreadPoolExecutor(self.parallel or os.cpu_count() or 1)

    def run(self, copy: Path, test: ReproductionTest, seconds: float) -> SuiteRun:
        """Run one test in a copy of the tree. Raises NoSandbox."""
        command = replace(
            self.command,
            runner=Runner.SCRIPT,
            arguments=(f"{_FOLDER}/{test.id}.py",),
            seconds=min(seconds, self.command.seconds),
        )
        return run_in_copy(copy, command, self.keep_going)


def keep_reproducing(tree: Path, written: KeptTests, runs: ScriptRuns) -> KeptTests:
    """Keep the tests that reproduce the issue on the base, the folder `tree`, and count the others by reason.

    Each test runs twice. Before the second run, each Python file gets one more comment, so a test that looks at sizes,
    times or digests of files in place of behaviour is dropped, like one that is flaky. Raises NoSandbox.
    """
    scripts = _write_scripts(written.tests)
    dropped = Counter(written.dropped)
    seconds: dict[str, float] = {}

    def drop(
        tests: Sequence[ReproductionTest], reason: DropReason | None
    ) -> list[ReproductionTest]:
        with copy_tree(tree, scripts) as copy, runs.open_pool() as pool:
            if reason:
                _add_comments(copy)
            results = list(pool.map(lambda test: runs.run(copy, test, SECONDS), tests))
        kept = []
        for test, run in zip(tests, results, strict=True):
            if defect := find_drop_reason(test, run):
                dropped[reason or defect] += 1
            else:
                seconds[test.id] = max(run.seconds, seconds.get(test.id, 0.0))
                kept.append(test)
        return kept

    first = drop(written.tests, None) if written.tests else []
    runs.on_run(1, 2)
    second = drop(first, DropReason.UNSTABLE) if first else []
    runs.on_run(2, 2)
    return KeptTests(tuple(second), dict(dropped), {test.id: seconds[test.id] for test in second})


def run_on_candidates(
    tree: Path, candidates: Sequence[Patch], kept: KeptTests, runs: ScriptRuns
) -> ReproductionEvidence:
    """Run every kept test on every candidate, and return the outcomes. Raises NoSandbox.

    The tests of all agents' attempts at an issue belong in one `kept`: each then runs on each candidate.
    """
    done = 0

    def run(patch: Patch) -> tuple[tuple[IssueOutcome, ...], str | None]:
        nonlocal done
        result = _run_on_patch(tree, patch, kept, runs)
        done += 1
        runs.on_run(done, len(candidates))
        return result

    with runs.open_pool() as pool:
        results = dict(
            zip((patch.id for patch in candidates), pool.map(run, candidates), strict=True)
        )
    unknown: Mapping[PatchId, str] = {
        patch: reason for patch, (_, reason) in results.items() if reason is not None
    }
    return ReproductionEvidence(
        kept.tests, {patch: outcomes for patch, (outcomes, _) in results.items()}, unknown
    )


def _run_on_patch(
    tree: Path, patch: Patch, kept: KeptTests, runs: ScriptRuns
) -> tuple[tuple[IssueOutcome, ...], str | None]:
    """Return the outcomes of all tests on one patch, and why none could be run."""
    nothing = (IssueOutcome.UNKNOWN,) * len(kept.tests)
    changes = prepare_changes(tree, patch)
    if isinstance(changes, str):
        return nothing, changes
    scripts = _write_scripts(kept.tests)
    everything = replace(changes, written={**changes.written, **scripts.written})
    try:
        with copy_tree(tree, everything) as copy:
            return tuple(_run_in_turn(copy, kept, runs)), None
    except PatchDoesNotApply as error:
        return nothing, f"the patch does not apply: {error}"


def _run_in_turn(copy: Path, kept: KeptTests, runs: ScriptRuns) -> list[IssueOutcome]:
    outcomes: list[IssueOutcome] = []
    for test in kept.tests:
        if outcomes.count(IssueOutcome.UNKNOWN) >= _LATE_RUNS:
            outcomes.append(IssueOutcome.UNKNOWN)
        else:
            usual = kept.seconds.get(test.id, SECONDS)
            seconds = min(SECONDS, max(_LEAST_SECONDS, usual * _PATIENCE))
            outcomes.append(read_outcome(runs.run(copy, test, seconds)))
    return outcomes


def _write_scripts(tests: Sequence[ReproductionTest]) -> TreeChanges:
    """Return the files of the tests. They are written after a patch, so it cannot change them."""
    encoded = {
        f"{_FOLDER}/{test.id}.py": test.text.encode(errors="surrogateescape") for test in tests
    }
    return TreeChanges(encoded)


def _add_comments(copy: Path) -> None:
    """Add a comment to each Python file of the copy but the tests. Links stay as they are."""
    for folder, _, names in os.walk(copy):
        for name in names:
            if name.endswith(".py") and Path(folder).name != _FOLDER:
                with suppress(OSError):  # a link
                    handle = os.open(Path(folder) / name, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
                    with open(handle, "ab") as file:  # noqa: PTH123 - a handle, not a path
                        file.write(_NEUTRAL)
