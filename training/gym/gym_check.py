"""Check a gym without running a test: trees, diffs, licences and leaks."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from model.errors import BadDiff, BadGym, PatchDoesNotApply
from model.execution.tree_changes import apply_diff
from model.gyms.gym_folder import Gym, TaskTrees, open_trees
from model.gyms.gym_task import GymTask
from training.gym.leak_check import find_leaks


def find_problems(gym: Gym, on_task: Callable[[int], None] = lambda _done: None) -> Iterator[str]:
    """Yield a sentence for each thing that is wrong with a task. `on_task` gets the number of finished tasks."""
    with open_trees(gym) as trees:
        for number, task in enumerate(gym.tasks, 1):
            with TemporaryDirectory(prefix="r4p-gym-check-") as home:
                problems = list(_check(task, trees, Path(home) / "tree"))
            yield from (f"task {task.id}: {problem}" for problem in problems)
            on_task(number)


def _check(task: GymTask, trees: TaskTrees, tree: Path) -> Iterator[str]:
    try:
        trees.check_out(task.id, tree)
    except BadGym as error:
        yield str(error)
        return
    diffs = [
        ("true patch", task.patch),
        ("minimal patch", task.minimal_patch),
        ("test patch", task.test_patch),
    ]
    diffs += [(f"candidate {candidate.id}", candidate.patch) for candidate in task.candidates]
    for name, diff in diffs:
        try:
            if diff:
                apply_diff(tree, diff)
        except (BadDiff, PatchDoesNotApply) as error:
            yield f"its {name} does not apply: {error}"
    if leaks := find_leaks(task.statement, task.patch, task.test_patch):
        yield f"its statement gives away {leaks[0][:100]!r}"
    if task.licence == "NOASSERTION":
        yield "its licence is not known; name it by --licence when the gym is built"
