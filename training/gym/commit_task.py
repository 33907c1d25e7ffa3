"""Make a gym task of one commit: check it out, find an environment, and run its tests before and after."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model.codegraph.reader_pool import ReadRequest, read_all
from model.errors import BadDiff, BadSuiteCommand, GitFailed, PatchDoesNotApply
from model.execution.suite_command import SuiteCommand
from model.execution.suite_process import run_in_copy, run_tests
from model.execution.suite_run import SuiteRun
from model.execution.tree_changes import NO_CHANGES, TreeChanges, apply_diff, join_changes
from model.execution.tree_copy import copy_tree
from model.gyms.gym_task import GymCandidate, GymTask, TestsFrom
from model.gyms.tree_files import write_tree
from training.gym import validation
from training.gym.candidates import patch_blocks, wrong_candidates
from training.gym.commits import commit_limits, test_commands
from training.gym.commits.commit_limits import CommitLimits, SourceEdit, SourceVersion
from training.gym.commits.declared_requirements import is_declaration
from training.gym.commits.history import ContentReader, HistoryCommit, list_paths, read_diff
from training.gym.environment_search import BuiltEnvironment, EnvironmentShelf, list_recipes
from training.gym.leak_check import find_leaks
from training.gym.statement import write_statement
from training.gym.validation import TestVerdicts

_READ_SECONDS: Final = 60.0
_MOST_EDITS: Final = 4
"""Other commits whose edits are tried as wrong candidates."""
_MOST_RUNS: Final = 16
"""Runs of tests that look for the minimal patch."""
_LEAST_SECONDS: Final = 20.0
_PATIENCE: Final = 10.0
"""Tests may take this many times as long with a candidate as before, and at least _LEAST_SECONDS."""
_MOST_ENVIRONMENTS: Final = 6
"""Environments that are tried for one commit."""


class Refused(Exception):
    """A commit gives no task. The message is the reason, in the same words for the same cause."""


@dataclass(frozen=True, slots=True)
class BuildSettings:
    """What holds for all commits of a build."""

    repository: Path
    """The git directory."""
    name: str
    """`owner/name` of the repository."""
    licence: str
    limits: CommitLimits
    shelf: EnvironmentShelf
    pythons: tuple[str, ...]
    runs: int = validation.RUNS
    seconds: float = 60.0
    """Processor time that a run of the tests may take."""
    has_suite: bool = True
    """Whether the rest of the suite runs too, once before and once after, for its pass-to-pass tests."""
    history: tuple[HistoryCommit, ...] = ()
    """All commits of the build, whose edits serve as wrong candidates of their neighbours."""
    has_candidates: bool = True
    """Whether wrong candidates and the minimal patch are looked for, which takes about ten runs."""


@dataclass(frozen=True, slots=True)
class CommitChange:
    """The two diffs of a commit and its base tree."""

    commit: HistoryCommit
    patch: str
    test_patch: str
    tree: Path
    """The base tree, checked out."""
    patch_changes: TreeChanges
    test_changes: TreeChanges

    def list_test_modules(self) -> list[str]:
        """Return the paths of the changed test modules that exist after the commit."""
        names = (path for path in self.test_changes.written if path.endswith(".py"))
        return sorted(path for path in names if _is_module(path.rpartition("/")[2]))


def _is_module(name: str) -> bool:
    return (
        name.startswith("test_")
        or name.endswith(("_test.py", "_tests.py"))
        or name in {"test.py", "tests.py"}
    )


def check_limits(settings: BuildSettings, commit: HistoryCommit) -> str:
    """Return the true patch of a commit. Raises Refused when it is too large for a task."""
    if reason := commit_limits.explain_refusal(commit, settings.limits):
        raise Refused(reason)
    patch = read_diff(settings.repository, commit, commit.sources)
    edits = list(_read_edits(settings.repository, commit))
    if reason := commit_limits.explain_content_refusal(patch, edits, settings.limits):
        raise Refused(reason)
    return patch


def _read_edits(repository: Path, commit: HistoryCommit) -> Iterator[SourceEdit]:
    """Yield the versions of each changed source file, with their definitions from the code graph."""
    paths = [file.path for file in commit.sources]
    with ContentReader(repository) as reader:
        texts = {
            f"{revision}/{path}": reader.read(revision, path)
            for revision in (commit.parent, commit.sha)
            for path in paths
        }
    wanted = [
        ReadRequest("python", key)
        for key, text in texts.items()
        if key.endswith(".py") and text is not None
    ]
    found = read_all(wanted, lambda key: texts[key] or b"", _READ_SECONDS)
    definitions = {request.path: reading.rows for request, reading in found}

    def build(key: str) -> SourceVersion | None:
        text = texts[key]
        return None if text is None else SourceVersion(text, definitions.get(key, ()))

    for path in paths:
        yield SourceEdit(build(f"{commit.parent}/{path}"), build(f"{commit.sha}/{path}"))


@contextmanager
def check_out(settings: BuildSettings, commit: HistoryCommit, patch: str) -> Iterator[CommitChange]:
    """Yield a commit with its base tree checked out. Raises Refused."""
    with TemporaryDirectory(prefix="r4p-gym-base-") as home:
        tree = Path(home).resolve() / "tree"
        try:
            test_patch = read_diff(settings.repository, commit, commit.tests)
            write_tree(settings.repository, commit.parent, tree)
            changes = [
                apply_diff(tree, diff) if diff else NO_CHANGES for diff in (patch, test_patch)
            ]
        except (GitFailed, BadDiff, PatchDoesNotApply) as error:
            raise Refused("its diff cannot be read or applied") from error
        yield CommitChange(commit, patch, test_patch, tree, *changes)


def read_configuration(settings: BuildSettings, commit: HistoryCommit) -> dict[str, bytes]:
    """Return the files of a commit that declare requirements or configure pytest, by path."""
    wanted = [
        path
        for path in list_paths(settings.repository, commit.sha)
        if is_declaration(path) or path in test_commands.CONFIGURATIONS
    ]
    with ContentReader(settings.repository) as reader:
        return {path: reader.read(commit.sha, path) or b"" for path in wanted}


def find_environment(
    settings: BuildSettings,
    date: str,
    files: Mapping[str, bytes],
    copy: Path,
    command: str,
    paths: Sequence[str],
) -> BuiltEnvironment:
    """Return the first environment in which a test of `paths` passes on the copy after the commit. Raises Refused."""
    tried: dict[str, str] = {}
    for recipe in list_recipes(files, date, settings.pythons):
        environment = settings.shelf.build(recipe)
        if environment is None or environment.name in tried:
            continue
        if len(tried) == _MOST_ENVIRONMENTS:
            break
        selected = test_commands.select_tests(command, paths, environment.python, settings.seconds)
        run = run_in_copy(copy, selected)
        if run.failure is None and run.list_passed():
            return environment
        tried[environment.name] = validation.shorten_failure(run.failure or "no test passes")
    raise Refused(next(iter(tried.values()), "no environment for it can be built"))


def validate(
    settings: BuildSettings, change: CommitChange
) -> tuple[str, BuiltEnvironment, TestVerdicts]:
    """Return the command, the environment and what the tests of a commit say. Raises Refused."""
    modules = change.list_test_modules()
    if not modules:
        raise Refused(commit_limits.NO_TESTS)
    files = read_configuration(settings, change.commit)
    command = test_commands.build_command(files)
    both = join_changes(change.test_changes, change.patch_changes)
    try:
        with (
            copy_tree(change.tree, change.test_changes) as before,
            copy_tree(change.tree, both) as after,
        ):
            environment = find_environment(
                settings, change.commit.date, files, after, command, modules
            )
            touched, everything = (
                test_commands.select_tests(command, paths, environment.python, settings.seconds)
                for paths in (modules, ())
            )
            verdicts = others = _compare_modules(before, after, touched, settings.runs)
            narrow = f"{command} {shlex.join(modules)}"
            try:
                others = _compare(before, after, everything, 1) if settings.has_suite else verdicts
                command = command if settings.has_suite else narrow
            except Refused:  # other modules hang or end the run; those of the commit have run
                command = narrow
    except PatchDoesNotApply as error:
        raise Refused("its diff cannot be read or applied") from error
    return command, environment, validation.merge_verdicts(verdicts, others)


def _compare_modules(before: Path, after: Path, command: SuiteCommand, runs: int) -> TestVerdicts:
    """Return what all runs of the changed modules say. A commit that fixes no test is refused after the first."""
    first = validation.run_versions(before, after, command, 1)
    for finished in (1, runs):
        results = first
        if finished > 1:
            more = validation.run_versions(before, after, command, runs - 1)
            results = (first[0] + more[0], first[1] + more[1])
        verdicts = _judge(results)
        if not verdicts.fail_to_pass:
            raise Refused(validation.NOTHING_FIXED if finished == 1 else validation.FLAKY)
    return verdicts


def _compare(before: Path, after: Path, command: SuiteCommand, runs: int) -> TestVerdicts:
    return _judge(validation.run_versions(before, after, command, runs))


def _judge(results: tuple[list[SuiteRun], list[SuiteRun]]) -> TestVerdicts:
    if reason := validation.explain_failure(run for version in results for run in version):
        raise Refused(reason)
    return validation.compare_runs(*results)


def build_task(settings: BuildSettings, commit: HistoryCommit) -> tuple[GymTask, BuiltEnvironment]:
    """Return the task of a commit and its environment. Raises Refused and NoSandbox."""
    patch = check_limits(settings, commit)
    with check_out(settings, commit, patch) as change:
        try:
            command, environment, verdicts = validate(settings, change)
        except BadSuiteCommand as error:
            raise Refused("its test command cannot be run") from error
        candidates, smallest = _try_parts(settings, change, command, environment, verdicts)
    task = GymTask(
        id=_name_task(settings, commit),
        repository=settings.name,
        base_commit=commit.parent,
        created=commit.date,
        statement=_write_statement(settings, change, verdicts),
        patch=patch,
        minimal_patch=smallest,
        test_patch=change.test_patch,
        command=command,
        environment=environment.name,
        fail_to_pass=verdicts.fail_to_pass,
        pass_to_pass=verdicts.pass_to_pass,
        provenance={"commit": commit.sha, "subject": commit.subject},
        licence=settings.licence,
        tests_from=TestsFrom.COMMIT,
        candidates=candidates,
    )
    return task, environment


def _write_statement(settings: BuildSettings, change: CommitChange, verdicts: TestVerdicts) -> str:
    diffs = change.patch, change.test_patch
    statement = write_statement(settings.name, verdicts.fail_to_pass, verdicts.errors, *diffs)
    if find_leaks(statement, *diffs):
        raise Refused("its statement gives away the solution")
    return statement


def _name_task(settings: BuildSettings, commit: HistoryCommit) -> str:
    return f"{settings.name.rpartition('/')[2]}-{commit.sha[:12]}"


def _try_parts(
    settings: BuildSettings,
    change: CommitChange,
    command: str,
    environment: BuiltEnvironment,
    verdicts: TestVerdicts,
) -> tuple[tuple[GymCandidate, ...], str | None]:
    """Return the candidates of a task and its minimal patch, by running its fail-to-pass tests on parts of the patch."""
    if not settings.has_candidates:
        return (), None
    paths = sorted({test.partition("::")[0] for test in verdicts.fail_to_pass})
    selected = test_commands.select_tests(command, paths, environment.python, settings.seconds)
    selected = replace(selected, seconds=max(_LEAST_SECONDS, _PATIENCE * verdicts.seconds))

    def resolves(changes: TreeChanges) -> bool | None:
        try:
            run = run_tests(change.tree, join_changes(change.test_changes, changes), selected)
        except PatchDoesNotApply:
            return None
        return run.list_passed() >= set(verdicts.fail_to_pass) if run.failure is None else None

    edits = list(_find_edits(settings, change))
    seed = _name_task(settings, change.commit)
    candidates = wrong_candidates.build_candidates(change.patch_changes, edits, resolves, seed)
    smallest = patch_blocks.minimise(
        change.patch_changes, lambda part: resolves(part) is True, _MOST_RUNS
    )
    return candidates, wrong_candidates.write_diff(smallest)


def _find_edits(settings: BuildSettings, change: CommitChange) -> Iterator[TreeChanges]:
    """Yield what the nearest commits do to the files of this patch, where that fits the base."""
    own = {file.path for file in change.commit.sources}
    near = [commit for commit in settings.history if own & {file.path for file in commit.sources}]
    place = next((i for i, commit in enumerate(near) if commit.sha == change.commit.sha), 0)
    ordered = sorted(range(len(near)), key=lambda index: (abs(index - place), index))
    for index in ordered[1 : _MOST_EDITS + 1]:
        files = [file for file in near[index].sources if file.path in own]
        with suppress(GitFailed, BadDiff, PatchDoesNotApply):
            edit = apply_diff(change.tree, read_diff(settings.repository, near[index], files))
            if not patch_blocks.is_unchanged(edit):
                yield edit
