"""Find the wrong candidates and the minimal patch of a task, by running its fail-to-pass tests on parts of the true patch."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from model.errors import BadDiff, GitFailed, PatchDoesNotApply
from model.execution.suite_command import SuiteCommand
from model.execution.suite_process import run_tests
from model.execution.tree_changes import TreeChanges, apply_diff, join_changes
from model.execution.tree_copy import SharedTree, share_tree
from model.gyms.gym_task import GymCandidate
from training.gym.candidates import patch_blocks, wrong_candidates
from training.gym.commit_change import BuildSettings, CommitChange
from training.gym.commits import test_commands
from training.gym.commits.history import read_diff
from training.gym.environment_search import BuiltEnvironment
from training.gym.validation import TestVerdicts

_MOST_EDITS: Final = 4
"""Other commits whose edits are tried as wrong candidates."""
_MOST_RUNS: Final = 16
"""Runs of tests that look for the minimal patch."""
_LEAST_SECONDS: Final = 20.0
_PATIENCE: Final = 10.0
"""Tests may take this many times as long with a candidate as before, and at least _LEAST_SECONDS."""


def find_candidates(
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

    edits = list(_find_edits(settings, change))
    seed = settings.name_task(change.commit)
    with share_tree(change.tree) as tree:
        resolves = _remember(
            lambda changes: _resolves(
                tree, join_changes(change.test_changes, changes), selected, verdicts.fail_to_pass
            )
        )
        candidates = wrong_candidates.build_candidates(change.patch_changes, edits, resolves, seed)
        smallest = patch_blocks.minimise(
            change.patch_changes, lambda part: resolves(part) is True, _MOST_RUNS
        )
    return candidates, wrong_candidates.write_diff(smallest)


def _resolves(
    tree: SharedTree, changes: TreeChanges, command: SuiteCommand, fail_to_pass: Sequence[str]
) -> bool | None:
    """Return whether the fail-to-pass tests pass with the changes; None where that cannot be told."""
    try:
        run = run_tests(tree, changes, command)
    except PatchDoesNotApply:
        return None
    return run.list_passed() >= set(fail_to_pass) if run.failure is None else None


def _remember(resolves: wrong_candidates.Resolves) -> wrong_candidates.Resolves:
    """Return a function that runs the tests once for equal changes: candidates and minimal patches share parts."""
    results: dict[object, bool | None] = {}

    def look_up(changes: TreeChanges) -> bool | None:
        key = tuple(sorted(changes.written.items())), changes.deleted
        if key not in results:
            results[key] = resolves(changes)
        return results[key]

    return look_up


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
