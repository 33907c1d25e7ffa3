"""Make a gym task of one commit: check it out, find an environment, and run its tests before and after."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from model.errors import BadSuiteCommand, PatchDoesNotApply
from model.execution.suite_command import SuiteCommand
from model.execution.suite_process import run_in_copy
from model.execution.suite_run import SuiteRun
from model.execution.tree_changes import join_changes
from model.execution.tree_copy import copy_tree
from model.gyms.gym_task import GymTask, TestsFrom
from training.gym import validation
from training.gym.candidates.wrong_candidates import write_diff
from training.gym.commit_candidates import find_candidates
from training.gym.commit_change import (
    BuildSettings,
    CommitChange,
    Refused,
    check_limits,
    check_out,
    is_test_module,
)
from training.gym.commits import commit_limits, test_commands
from training.gym.commits.declared_requirements import is_declaration
from training.gym.commits.history import ContentReader, HistoryCommit, list_paths
from training.gym.environment_search import BuiltEnvironment, list_recipes
from training.gym.generated.generator import ChangedTree, generate_tests
from training.gym.task_statement import write_task_statement
from training.gym.validation import TestVerdicts

NOT_GENERATED: Final = "no generated test fails before and passes after"
_MOST_MODULES: Final = 1
"""Test modules by which the environment of a commit without tests is found."""
_MOST_ENVIRONMENTS: Final = 6
"""Environments that are tried for one commit."""


@dataclass(frozen=True, slots=True)
class BuiltTask:
    """A task of a commit."""

    task: GymTask
    environment: BuiltEnvironment
    no_issue: str | None = None
    """Why no issue of a model is its statement; None if one is, or if no model was asked."""


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
) -> tuple[BuiltEnvironment, SuiteRun]:
    """Return the first environment in which a test of `paths` passes on the copy after the commit, and this run.

    Raises Refused.
    """
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
            return environment, run
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
            environment, first = find_environment(
                settings, change.commit.date, files, after, command, modules
            )
            touched, everything = (
                test_commands.select_tests(command, paths, environment.python, settings.seconds)
                for paths in (modules, ())
            )
            verdicts = others = _compare_modules((before, after), touched, settings.runs, first)
            narrow = f"{command} {shlex.join(modules)}"
            try:
                others = (
                    _compare(before, after, everything, settings.runs)
                    if settings.has_suite
                    else verdicts
                )
                command = command if settings.has_suite else narrow
            except Refused:  # other modules hang or end the run; those of the commit have run
                command = narrow
    except PatchDoesNotApply as error:
        raise Refused("its diff cannot be read or applied") from error
    return command, environment, validation.merge_verdicts(verdicts, others)


def _compare_modules(
    copies: tuple[Path, Path], command: SuiteCommand, runs: int, first: SuiteRun
) -> TestVerdicts:
    """Return what all runs of the changed modules say. A commit that fixes no test is refused after the first.

    `copies` are the trees before and after the commit, and `first` is a run of the same command after it.
    """
    before, after = [run_in_copy(copies[0], command)], [first]
    verdicts = _judge((before, after))
    if not verdicts.fail_to_pass:
        raise Refused(validation.NOTHING_FIXED)
    more = validation.run_versions(*copies, command, runs - 1)
    verdicts = _judge((before + more[0], after + more[1]))
    if not verdicts.fail_to_pass:
        raise Refused(validation.FLAKY)
    return verdicts


def _compare(before: Path, after: Path, command: SuiteCommand, runs: int) -> TestVerdicts:
    return _judge(validation.run_versions(before, after, command, runs))


def _judge(results: tuple[list[SuiteRun], list[SuiteRun]]) -> TestVerdicts:
    if reason := validation.explain_failure(run for version in results for run in version):
        raise Refused(reason)
    return validation.compare_runs(*results)


def _add_tests(settings: BuildSettings, change: CommitChange) -> CommitChange:
    """Return a commit with generated tests as its test patch. Raises Refused."""
    files = read_configuration(settings, change.commit)
    command = test_commands.build_command(files)
    modules = sorted(
        path.relative_to(change.tree).as_posix()
        for path in change.tree.rglob("*.py")
        if is_test_module(path.name) and path.is_file()
    )
    stems = [Path(file.path).stem for file in change.commit.sources]
    near = [path for path in modules if any(stem in path for stem in stems)] or modules
    try:
        with copy_tree(change.tree, change.patch_changes) as after:
            environment, _ = find_environment(
                settings, change.commit.date, files, after, command, near[:_MOST_MODULES]
            )
        changed = ChangedTree(
            change.tree, change.patch_changes, command, environment.python, settings.seconds
        )
        tests = generate_tests(changed, settings.name_task(change.commit))
    except PatchDoesNotApply as error:
        raise Refused("its diff cannot be read or applied") from error
    if tests is None:
        raise Refused(NOT_GENERATED)
    return replace(change, test_patch=write_diff(tests), test_changes=tests)


def build_task(settings: BuildSettings, commit: HistoryCommit) -> BuiltTask:
    """Return the task of a commit. Raises Refused and NoSandbox."""
    patch = check_limits(settings, commit)
    with check_out(settings, commit, patch) as change:
        try:
            if settings.tests_from is TestsFrom.GENERATED:
                change = _add_tests(settings, change)  # noqa: PLW2901 - the same commit, now with tests
            command, environment, verdicts = validate(settings, change)
        except BadSuiteCommand as error:
            raise Refused("its test command cannot be run") from error
        candidates, smallest = find_candidates(settings, change, command, environment, verdicts)
    statement = write_task_statement(settings, change, verdicts)
    task = GymTask(
        id=settings.name_task(commit),
        repository=settings.name,
        base_commit=commit.parent,
        created=commit.date,
        statement=statement.text,
        patch=patch,
        minimal_patch=smallest,
        test_patch=change.test_patch,
        command=command,
        environment=environment.name,
        fail_to_pass=verdicts.fail_to_pass,
        pass_to_pass=verdicts.pass_to_pass,
        provenance={"commit": commit.sha, "subject": commit.subject},
        licence=settings.licence,
        tests_from=settings.tests_from,
        candidates=candidates,
        statement_from=statement.source,
    )
    return BuiltTask(task, environment, statement.no_issue)
