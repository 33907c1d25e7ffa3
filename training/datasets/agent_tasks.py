"""Read the tasks that an agent has to resolve: one JSON object a line, `r4p.task/1`.

    {"format": "r4p.task/1", "issue": "owner/repo#7", "title": "...", "body": "...", "tree": "trees/7"}

`tree` is a folder beside the file. It holds the source tree at the time of the issue, without history: later
commits contain the fix.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from model.domain import Issue
from training.datasets.groups import TrainingGroup
from training.plans.plan import BadPlan

FORMAT = "r4p.task/1"


@dataclass(frozen=True, slots=True)
class AgentTask:
    """An issue that an agent has to resolve, with its source tree."""

    issue: str
    """`owner/repo#number`, as in the groups of a dataset."""
    statement: Issue
    tree: Path

    @property
    def group(self) -> TrainingGroup:
        """The task as a training group with one empty patch of target 0, so that the round schedule can order it."""
        return TrainingGroup(
            key=self.issue,
            issue=self.issue,
            repo=self.issue.partition("#")[0],
            problem_statement=self.statement.text,
            patches=("",),
            targets=(0.0,),
        )


def read_tasks(path: Path | None, held_out: Collection[str] = ()) -> list[AgentTask]:
    """Read an agent's tasks from a file, without tasks of the issues in `held_out`.

    Raises BadPlan for a `path` of None, an unreadable file or line, two tasks for one issue, and no task at all.
    """
    if path is None:
        raise BadPlan("this plan trains an agent on issues: name its task file with --material")
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise BadPlan(f"tasks {path} can't be read: {error.strerror}") from error
    tasks = [
        _parse_task(line, path.parent, f"{path}, line {number}")
        for number, line in enumerate(lines, 1)
    ]
    kept = [task for task in tasks if task.issue not in held_out]
    if len({task.issue for task in kept}) < len(kept):
        raise BadPlan(f"{path} has two tasks for the same issue; keep one")
    if not kept:
        raise BadPlan(
            f"none of the {len(tasks)} tasks in {path} can be used: "
            + ("their issues are held out for evaluation" if tasks else "there are none")
        )
    return kept


def _parse_task(line: str, folder: Path, where: str) -> AgentTask:
    try:
        document = json.loads(line)
        if document["format"] != FORMAT:
            raise BadPlan(f"{where} is {document['format']!r}, but this version reads {FORMAT}")
        issue = Issue(str(document["title"]), str(document["body"]))
        tree = folder / document["tree"]
    except (ValueError, KeyError, TypeError) as error:
        raise (
            error if isinstance(error, BadPlan) else BadPlan(f"{where} is no task: {error!r}")
        ) from error
    if not tree.is_dir():
        raise BadPlan(f"{where}: there is no folder {tree}")
    return AgentTask(str(document["issue"]), issue, tree)
