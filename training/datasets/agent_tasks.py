"""Read the tasks that an agent has to resolve: one JSON object a line, `r4p.task/1`.

    {"format": "r4p.task/1", "issue": "owner/repo#7", "title": "...", "body": "...", "tree": "trees/7"}

`tree` is a folder beside the file. It holds the source tree at the time of the issue, without history: later
commits contain the fix.
"""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

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
        """The task as a training group, for the round schedule."""
        return build_issue_group(self.issue, self.statement)


def build_issue_group(issue: str, statement: Issue) -> TrainingGroup:
    """Build a training group with one empty patch of target 0, so that the round schedule can order an issue."""
    return TrainingGroup(
        key=issue,
        issue=issue,
        repo=issue.partition("#")[0],
        problem_statement=statement.text,
        patches=("",),
        targets=(0.0,),
    )


class AboutIssue(Protocol):
    """Something about an issue, `owner/repo#number`."""

    @property
    def issue(self) -> str:
        """The issue's name."""
        ...


Item = TypeVar("Item", bound=AboutIssue)


def read_tasks(path: Path | None, held_out: Collection[str] = ()) -> list[AgentTask]:
    """Read an agent's tasks from a file, without tasks of the issues in `held_out`.

    Raises BadPlan for a `path` of None, an unreadable file or line, two tasks for one issue, and no task at all.
    """
    return read_issue_lines(path, held_out, _parse_task, "tasks")


def read_issue_lines(
    path: Path | None, held_out: Collection[str], parse: Callable[[str, Path, str], Item], what: str
) -> list[Item]:
    """Read one item of each line of a file, without items about the issues in `held_out`.

    `parse` gets a line, the file's folder and the line's place for messages. `what` are the items, such as `tasks`.
    Raises what `parse` raises, and BadPlan like `read_tasks`.
    """
    if path is None:
        raise BadPlan(f"this plan trains on issues: name the file of their {what} with --material")
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadPlan(f"{what} {path} can't be read: {error}") from error
    items = [
        parse(line, path.parent, f"{path}, line {number}") for number, line in enumerate(lines, 1)
    ]
    kept = [item for item in items if item.issue not in held_out]
    if len({item.issue for item in kept}) < len(kept):
        raise BadPlan(f"{path} has two {what} for the same issue; keep one")
    if not kept:
        raise BadPlan(
            f"none of the {len(items)} {what} in {path} can be used: "
            + ("their issues are held out for evaluation" if items else "there are none")
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
