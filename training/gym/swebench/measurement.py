"""Run the tests of one issue on its base, with the true patch and with each candidate, behind the sandbox."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import filterfalse
from pathlib import Path
from typing import Final

from model.evaluation.labelled_group import LabelledPatch
from model.execution.screening.patch_screening import find_forbidden_code, keep_code
from model.execution.suite_command import SuiteCommand, parse_command
from model.execution.suite_process import run_tests
from model.execution.suite_run import SuiteRun
from model.execution.tree_changes import NO_CHANGES, TreeChanges, join_changes
from model.execution.tree_copy import SharedTree, copy_tree
from training.gym.swebench.base_choice import Base
from training.gym.swebench.benchmark_issue import BenchmarkIssue
from training.gym.swebench.issue_record import CandidateRecord, IssueRecord, PatchRun
from training.gym.swebench.named_tests import (
    find_tests,
    list_changed_methods,
    list_modules,
    read_docstrings,
)

COMMAND: Final = "python tests/runtests.py --parallel=1 --settings=test_sqlite"
"""Django's own test runner. Names of test modules follow."""
SLOW: Final = 30.0
"""Seconds of a run after which only the classes of the issue's own tests are run."""
NO_BASE: Final = "the true patch and its tests apply to no release"
DOES_NOT_APPLY: Final = "the patch does not apply to the base"
CHANGES_TESTS: Final = "the patch changes tests"
REACHES_FOR_RUNNER: Final = "new code reaches for what runs the tests"
NOTHING_FIXED: Final = "no test of the benchmark fails on the base and passes with the true patch"


@dataclass(frozen=True, slots=True)
class TestedTree:
    """The base tree of an issue with its tests, ready for many runs."""

    base: Base
    tests: TreeChanges
    """What the test patch changes."""
    command: SuiteCommand
    shared: SharedTree
    over: TreeChanges
    """What still has to be mounted over the shared tree: all changes, or none when it is a copy with them."""

    def run(self, changes: TreeChanges = NO_CHANGES) -> SuiteRun:
        """Run the tests with further changes."""
        return run_tests(self.shared, join_changes(self.over, changes), self.command)

    def narrow(self, labels: Sequence[str]) -> "TestedTree":
        """Return the tree with another choice of tests."""
        command = parse_command(build_command(labels))
        return replace(self, command=replace(self.command, arguments=command.arguments))


def build_command(labels: Sequence[str]) -> str:
    """Return the test command of an issue. `labels` are names of modules or classes."""
    return f"{COMMAND} {' '.join(labels)}"


def name_modules(issue: BenchmarkIssue, base: Base, tests: TreeChanges) -> dict[str, str]:
    """Return the path of each test module of an issue by its name."""
    return list_modules(base.test_patch, issue.fail_to_pass, lambda path: base.exists(path, tests))


@contextmanager
def open_tested_tree(
    base: Base, tests: TreeChanges, labels: Sequence[str], python: Path
) -> Iterator[TestedTree]:
    """Yield the base tree with its tests. A release is copied only if files appear or vanish."""
    command = replace(parse_command(build_command(labels)), python=python)
    over, folder = join_changes(base.changes, tests), base.release.folder
    if not over.deleted and all((folder / path).is_file() for path in over.written):
        yield TestedTree(base, tests, command, SharedTree(folder), over)
    else:
        with copy_tree(folder, over) as copy:
            yield TestedTree(base, tests, command, SharedTree(copy), NO_CHANGES)


def measure_issue(issue: BenchmarkIssue, base: Base, key: str, python: Path) -> IssueRecord:
    """Return an issue's tests and the candidates that can run, without their runs. Raises NoSandbox."""
    record = IssueRecord(issue.id, key, base=base.name)
    tests = base.apply(base.test_patch)
    true = tests and base.apply(issue.true_patch, tests)
    if tests is None or true is None or not (modules := name_modules(issue, base, tests)):
        return replace(record, refusal=NO_BASE)
    record = replace(record, labels=tuple(modules))
    sources = [_read(base, tests, path) for path in modules.values()]
    with open_tested_tree(base, tests, record.labels, python) as tree:
        whole = tree.run(true)
        if whole.seconds > SLOW:
            record = replace(record, labels=_list_classes(issue, sources, whole))
        chosen = tree.narrow(record.labels)
        first = whole if whole.seconds <= SLOW else chosen.run(true)
        before, *after = chosen.run(), first, chosen.run(true)
    changed = _find_changed_tests(base, tests, modules)
    record = replace(record, regression=tuple(sorted(filterfalse(changed, before.list_passed()))))
    if failure := next((run.failure for run in (before, *after) if run.failure), None):
        return replace(record, refusal=f"the tests say nothing: {failure}")
    candidates = tuple(_screen(base, tests, candidate) for candidate in issue.candidates)
    return _sort_tests(replace(record, candidates=candidates), issue, sources, before, after)


def _find_changed_tests(
    base: Base, tests: TreeChanges, modules: Mapping[str, str]
) -> Callable[[str], bool]:
    """Return a function that tells whether the test patch adds or changes a test, by the test's id."""
    changed = {
        (module, method)
        for module, path in modules.items()
        for method in list_changed_methods(
            _read(base, NO_CHANGES, path) if base.exists(path, NO_CHANGES) else None,
            _read(base, tests, path),
        )
    }
    return lambda test: (test.rsplit(".", 2)[0], test.rpartition(".")[2]) in changed


def _list_classes(issue: BenchmarkIssue, sources: Sequence[str], run: SuiteRun) -> tuple[str, ...]:
    """Return the classes of an issue's own tests, for a run of whole modules that is too slow."""
    docstrings, passed = read_docstrings(sources), run.list_passed()
    tests = {test for name in issue.fail_to_pass for test in find_tests(name, passed, docstrings)}
    return tuple(sorted({test.rpartition(".")[0] for test in tests})) or ("none",)


def _sort_tests(
    record: IssueRecord,
    issue: BenchmarkIssue,
    sources: Sequence[str],
    before: SuiteRun,
    after: Sequence[SuiteRun],
) -> IssueRecord:
    """Return the record with the issue's fail-to-pass and pass-to-pass tests. `sources` are its test modules' texts."""
    docstrings = read_docstrings(sources)
    passing = frozenset.intersection(*(run.list_passed() for run in after))
    fixed = passing - before.list_passed()
    by_name = {name: find_tests(name, fixed, docstrings) for name in issue.fail_to_pass}
    fail_to_pass = frozenset[str]().union(*by_name.values())
    return replace(
        record,
        refusal=None if fail_to_pass else NOTHING_FIXED,
        fail_to_pass=tuple(sorted(fail_to_pass)),
        pass_to_pass=tuple(sorted(passing & before.list_passed())),
        missing=tuple(name for name, tests in by_name.items() if not tests),
        seconds=round(max(run.seconds for run in after), 2),
    )


def _screen(base: Base, tests: TreeChanges, candidate: LabelledPatch) -> CandidateRecord:
    record = CandidateRecord(candidate.patch.id, candidate.resolved)
    changes = base.apply(candidate.patch.diff, tests)
    if changes is None:
        return replace(record, refusal=DOES_NOT_APPLY)
    if keep_code(changes).paths != changes.paths:
        return replace(record, refusal=CHANGES_TESTS)
    if find_forbidden_code(changes):
        return replace(record, refusal=REACHES_FOR_RUNNER)
    return record


def run_candidates(
    issue: BenchmarkIssue, base: Base, record: IssueRecord, python: Path
) -> IssueRecord:
    """Return the record with one more run of each candidate that can run. Raises NoSandbox."""
    tests = base.apply(base.test_patch)
    if tests is None:
        return replace(record, refusal=NO_BASE)
    with open_tested_tree(base, tests, record.labels, python) as tree:
        for number, candidate in enumerate(issue.candidates):
            changes = base.apply(candidate.patch.diff, tests)
            if record.candidates[number].refusal is None and changes is not None:
                record = record.add_run(number, _compare(record, tree.run(changes)))
    return record


def _compare(record: IssueRecord, run: SuiteRun) -> PatchRun:
    seconds, passed = round(run.seconds, 2), run.list_passed()
    if run.failure is not None:
        return PatchRun(unknown=run.failure, seconds=seconds)
    failed, broken, lost = (
        tuple(test for test in tests if test not in passed)
        for tests in (record.fail_to_pass, record.pass_to_pass, record.regression)
    )
    return PatchRun(failed, broken, lost, seconds=seconds)


def _read(base: Base, tests: TreeChanges, path: str) -> str:
    changes = join_changes(base.changes, tests)
    content = changes.written.get(path)
    if content is None:
        content = (base.release.folder / path).read_bytes()
    return content.decode(errors="replace")
