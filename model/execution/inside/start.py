"""The first process in the sandbox: copy the tree into memory, apply the changes, set limits and start the tests.

Start it by `python -I -m model.execution.inside.start TASK`, where TASK is the JSON of a `StartTask`.
"""

import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from model import typed_json
from model.sandbox import limits, walls
from model.sandbox.limits import ResourceLimits


@dataclass(frozen=True, slots=True)
class StartTask:
    """What to run, in which copy of which tree."""

    base: str
    """The tree before the patch, which is read-only."""
    changes: str
    """A folder with the new content of each changed file, at its path."""
    deleted: tuple[str, ...]
    """Paths of the files that the patch deletes."""
    tree: str
    """Where the copy goes."""
    command: tuple[str, ...]
    environment: Mapping[str, str]
    limits: ResourceLimits


def main() -> None:
    """Prepare the tree and replace this process by the tests."""
    task = typed_json.read(StartTask, json.loads(sys.argv[1]))
    copy_tree(task)
    walls.leave_root(Path(task.tree))
    limits.set_limits(task.limits)
    os.chdir(task.tree)
    os.execve(task.command[0], task.command, task.environment)  # noqa: S606 - no shell is what we want


def copy_tree(task: StartTask) -> None:
    """Copy the base, lay the changed files over it and remove the deleted ones. Links stay links."""
    shutil.copytree(task.base, task.tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    shutil.copytree(task.changes, task.tree, dirs_exist_ok=True)
    for path in task.deleted:
        (Path(task.tree) / path).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
