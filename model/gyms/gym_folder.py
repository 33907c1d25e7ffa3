"""Read the folder of a gym, and check out the base trees of its tasks.

`training/gym/gym_folder.py` writes such folders.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeVar

from model.environments import recipe
from model.environments.recipe import EnvironmentRecipe
from model.errors import BadGym, BadRecipe, GitFailed
from model.gyms import gym_task
from model.gyms.gym_task import GymManifest, GymTask
from model.gyms.tree_files import write_tree
from model.patches import git

MANIFEST, TASKS, TREES, ENVIRONMENTS = (
    "gym.json",
    "tasks.jsonl",
    "trees.bundle",
    "environments.json",
)
"""The files of a gym."""
REFERENCE: Final = "refs/gym/"
"""The bundle has a reference of this name and the task's id for each task. It names a commit without parents."""
_BUNDLE_SECONDS: Final = 600.0
_HEAD: Final = re.compile(r"([0-9a-f]{40}) (refs/gym/(\S+))")

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Gym:
    """A gym without its trees."""

    folder: Path
    manifest: GymManifest
    tasks: tuple[GymTask, ...]
    """In the order of their ids."""
    environments: Mapping[str, EnvironmentRecipe]
    """Recipes by the names that tasks use."""


def read_gym(folder: Path) -> Gym:
    """Read a gym. Raises BadGym, also when its files contradict each other."""
    manifest = _read(folder / MANIFEST, gym_task.parse_manifest)
    environments = _read(folder / ENVIRONMENTS, recipe.parse_environments)
    tasks = tuple(_read(folder / TASKS, _parse_lines))
    ids = [task.id for task in tasks]
    if len(tasks) != manifest.tasks or ids != sorted(set(ids)):
        raise BadGym(
            f"{folder / TASKS} holds {len(tasks)} tasks, and {MANIFEST} says {manifest.tasks}; "
            "they must be as many, each once and in the order of their ids"
        )
    for task in tasks:
        if task.environment not in environments:
            raise BadGym(
                f"task {task.id} needs the environment {task.environment!r}, "
                f"which {folder / ENVIRONMENTS} lacks; add its recipe"
            )
    return Gym(folder, manifest, tasks, environments)


def _parse_lines(text: str) -> list[GymTask]:
    tasks = []
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            tasks.append(gym_task.parse_task(line))
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {number}: {error}") from error
    return tasks


def _read(path: Path, parse: Callable[[str], Record]) -> Record:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadGym(f"{path} can't be read: {error.strerror}; name the folder of a gym") from error
    except (BadRecipe, ValueError, TypeError, RecursionError) as error:
        raise BadGym(f"{path} is not of a gym: {error}") from error


@dataclass(frozen=True, slots=True)
class TaskTrees:
    """The base trees of a gym's tasks, in a bare repository."""

    repository: Path
    commits: Mapping[str, str]
    """Commit by the task's id."""

    def check_out(self, task: str, folder: Path) -> None:
        """Write the base tree of the task with the id `task` into the new folder `folder`.

        The test patch is not applied. Raises BadGym.
        """
        if task not in self.commits:
            raise BadGym(f"{TREES} holds no tree of task {task}; build the gym again")
        try:
            write_tree(self.repository, self.commits[task], folder)
        except GitFailed as error:
            raise BadGym(f"the tree of task {task} can't be checked out: {error}") from error


@contextmanager
def open_trees(gym: Gym) -> Iterator[TaskTrees]:
    """Unpack the trees of a gym into a temporary folder, and yield them. Raises BadGym."""
    bundle = gym.folder.absolute() / TREES
    with TemporaryDirectory(prefix="r4p-gym-") as home:
        repository = Path(home).resolve()
        try:
            git.run(
                repository,
                "init", "--quiet", "--bare", "--template=", str(repository),
                seconds=_BUNDLE_SECONDS,
            )  # fmt: skip
            heads = git.run(repository, "bundle", "unbundle", str(bundle), seconds=_BUNDLE_SECONDS)
        except GitFailed as error:
            raise BadGym(f"{bundle} can't be unpacked: {error}") from error
        matches = map(_HEAD.fullmatch, heads.decode(errors="replace").splitlines())
        yield TaskTrees(repository, {match[3]: match[1] for match in matches if match})
