"""Write the folder of a gym, `r4p.gym/1`. `model/gyms/gym_folder.py` reads it.

The same tasks and trees give the same bytes with the same release of git.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from model.environments.recipe import EnvironmentRecipe, format_environments
from model.errors import BadGym
from model.gyms.gym_folder import ENVIRONMENTS, MANIFEST, TASKS, TREES
from model.gyms.gym_task import (
    GymManifest,
    GymSource,
    GymTask,
    format_manifest,
    format_task,
)
from training.gym.tree_store import TreeStore


def write_gym(
    folder: Path,
    manifest: GymManifest,
    tasks: Sequence[GymTask],
    environments: Mapping[str, EnvironmentRecipe],
    trees: tuple[TreeStore, Mapping[str, str]],
) -> None:
    """Write a gym into the new folder `folder`. Only environments that a task names are kept.

    `trees` are a store and the tree of each task's base in it, by the task's id. Raises BadGym when the folder exists
    or a tree is missing.
    """
    store, by_task = trees
    used = {task.environment for task in tasks}
    if missing := used - environments.keys() | {t.id for t in tasks} - by_task.keys():
        raise BadGym(f"{min(missing)} is missing: each task needs its tree and its environment")
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise BadGym(f"{folder} exists already; name a folder to create") from None
    texts = {
        MANIFEST: format_manifest(manifest),
        TASKS: "".join(map(format_task, sorted(tasks, key=lambda task: task.id))),
        ENVIRONMENTS: format_environments({name: environments[name] for name in sorted(used)}),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / TREES).write_bytes(store.build_bundle({task.id: by_task[task.id] for task in tasks}))


def build_manifest(
    name: str, tasks: Sequence[GymTask], sources: Sequence[GymSource], refusals: Mapping[str, int]
) -> GymManifest:
    """Return the manifest of these tasks."""
    return GymManifest(name, len(tasks), tuple(sources), dict(sorted(refusals.items())))
