"""Build a gym from a git repository: look at every commit, side by side, and count each refusal with its reason."""

import os
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from model.errors import GitFailed
from model.gyms.gym_task import GymManifest, GymSource, GymStatements, GymTask
from training.gym.commit_change import BuildSettings, Refused
from training.gym.commit_task import BuiltTask, build_task
from training.gym.commits.history import ContentReader, HistoryCommit
from training.gym.environment_search import BuiltEnvironment
from training.gym.gym_folder import build_manifest, write_gym
from training.gym.tree_store import TreeStore

UNREADABLE: Final = "git cannot read its changes, or they are too large"
_LICENCES: Final = {
    "Apache-2.0": "Apache License",
    "MPL-2.0": "Mozilla Public License",
    "GPL-3.0-only": "GNU GENERAL PUBLIC LICENSE",
    "MIT": "Permission is hereby granted, free of charge",
    "BSD-3-Clause": "Redistributions? of source code must retain.*contributors",
    "BSD-2-Clause": "Redistributions? of source code must retain",
}
"""A phrase of each licence's text; the first that is found decides."""


@dataclass(frozen=True, slots=True)
class BuiltGym:
    """The tasks that the commits of a history gave, and why the others gave none."""

    tasks: tuple[GymTask, ...]
    environments: dict[str, BuiltEnvironment]
    refusals: Counter[str]
    source: GymSource
    statements: GymStatements | None = None
    """Who wrote the statements; None where no model was to be asked."""


def build_tasks(
    settings: BuildSettings,
    commits: list[HistoryCommit],
    *,
    parallel: int | None = None,
    on_commit: Callable[[int, int], None] = lambda _done, _tasks: None,
) -> BuiltGym:
    """Look at all commits and return their tasks. `on_commit` gets the numbers of finished commits and of tasks.

    `parallel` is the number of commits at the same time; None takes one for each core. Raises NoSandbox.
    """
    done = tasks = 0
    with ThreadPoolExecutor(parallel or os.cpu_count() or 1) as pool:
        results = []
        for result in pool.map(lambda commit: _try_commit(settings, commit), commits):
            results.append(result)
            done, tasks = done + 1, tasks + (not isinstance(result, str))
            on_commit(done, tasks)
    built = [result for result in results if not isinstance(result, str)]
    ends = f"{commits[-1].sha}..{commits[0].sha}" if commits else ""
    return BuiltGym(
        tuple(result.task for result in built),
        {result.environment.name: result.environment for result in built},
        Counter(result for result in results if isinstance(result, str)),
        GymSource(settings.name, settings.licence, ends),
        _count_statements(settings, built),
    )


def _count_statements(settings: BuildSettings, built: list[BuiltTask]) -> GymStatements | None:
    if (writer := settings.issue_writer) is None:
        return None
    reasons = Counter(result.no_issue for result in built if result.no_issue is not None)
    by_model = len(built) - reasons.total()
    return GymStatements(
        writer.model, writer.prompt_fingerprint, by_model, dict(sorted(reasons.items()))
    )


def _try_commit(settings: BuildSettings, commit: HistoryCommit) -> BuiltTask | str:
    try:
        return build_task(settings, commit)
    except Refused as refusal:
        return str(refusal)
    except GitFailed:  # its message names the commit, so equal causes would not be counted together
        return UNREADABLE


def save_gym(folder: Path, name: str, repository: Path, built: BuiltGym) -> GymManifest:
    """Write a built gym into the new folder `folder`, and return its manifest. Raises BadGym and GitFailed."""
    manifest = build_manifest(name, built.tasks, [built.source], built.refusals)
    manifest = replace(manifest, statements=built.statements)
    recipes = {name: environment.recipe for name, environment in built.environments.items()}
    with TemporaryDirectory(prefix="r4p-gym-trees-") as home:
        store = TreeStore(Path(home) / "store")
        trees = {task.id: store.borrow_tree(repository, task.base_commit) for task in built.tasks}
        write_gym(folder, manifest, built.tasks, recipes, (store, trees))
    return manifest


def detect_licence(repository: Path, revision: str) -> str:
    """Return the SPDX name of a repository's licence from its text; NOASSERTION for one that is not known here."""
    names = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENSE.rst", "COPYING", "LICENCE")
    with ContentReader(repository) as reader:
        texts = (reader.read(revision, name) for name in names)
        text = next((content for content in texts if content), b"").decode(errors="replace")
    identifiers = (
        name
        for name, phrase in _LICENCES.items()
        if re.search(phrase, text, re.DOTALL | re.IGNORECASE)
    )
    return next(identifiers, "NOASSERTION")
