"""Show a judge the code of a gym's base trees that the patches of a group touch, as the bot does."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from model.agents.process.code_process import read_touched_code
from model.agents.tools.touched_code import select_fitting
from model.evaluation.gyms.gym_groups import build_groups
from model.gyms.gym_folder import TaskTrees, open_trees, read_gym
from model.verifiers.reports.rubric_source import TreeReaders


@dataclass(frozen=True, slots=True)
class GymCode:
    """Reads the definitions that patches of a gym touch."""

    trees: TaskTrees
    tasks: dict[str, set[str]]
    """Ids of the tasks with a patch, by its diff."""

    def __call__(self, diffs: Sequence[str], characters: int) -> str:
        """Return the touched definitions of the task that all `diffs` are for, in at most `characters` characters.

        The result is empty where no task has all of them. Raises BadGym, ModelError and OSError for a tree that cannot be read.
        """
        shared = set.intersection(*(self.tasks.get(diff, set()) for diff in diffs))
        if not shared:
            return ""
        with TemporaryDirectory(prefix="r4p-gym-code-") as folder:
            tree, scratch = Path(folder, "tree"), Path(folder, "scratch")
            scratch.mkdir()
            # Tasks with the same patches have the same base in all that the patches touch.
            self.trees.check_out(min(shared), tree)
            definitions = read_touched_code(tree, scratch, diffs)
        return "\n\n".join(select_fitting(definitions, characters))


@contextmanager
def open_gym_readers(folder: Path) -> Iterator[TreeReaders]:
    """Unpack the trees of the gym `folder`, and yield what reads their code. Raises BadGym."""
    gym = read_gym(folder)
    tasks: dict[str, set[str]] = {}
    for group in build_groups(gym.tasks):
        for patch in group.patches:
            tasks.setdefault(patch.patch.diff, set()).add(group.instance_id)
    with open_trees(gym) as trees:
        yield TreeReaders(code=GymCode(trees, tasks))
