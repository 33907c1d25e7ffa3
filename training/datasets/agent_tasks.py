"""Issues that an agent is to resolve, with their trees: a file of one JSON object a line, `r4p.task/1`.

    {"format": "r4p.task/1", "issue": "owner/repo#7", "title": "...", "body": "...", "tree": "trees/7"}

`tree` is a folder beside the file, with the source tree as it was when the issue was written and without history: later
commits hold the fix.
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
    """One issue to resolve."""

    issue: str
    """`owner/repo#number`, as in the groups of a dataset."""
    text: Issue
    tree: Path

    @property
    def group(self) -> TrainingGroup:
        """The task as something to be drawn: the issue with the patch that changes nothing, and so resolves nothing."""
        return TrainingGroup(
            key=self.issue,
            issue=self.issue,
            repo=self.issue.partition("#")[0],
            problem_statement=self.text.text,
            patches=("",),
            targets=(0.0,),
        )


def read(path: Path | None, held_out: Collection[str] = ()) -> list[AgentTask]:
    """The tasks of a file, without issues that are held out for evaluation. Raises BadPlan naming file and line."""
    if path is None:
        raise BadPlan(
            "this plan has an agent resolve issues: name the file of its tasks with --material"
        )
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise BadPlan(f"tasks {path} can't be read: {error.strerror}") from error
    every = [_task(line, path.parent, f"{path}, line {at}") for at, line in enumerate(lines, 1)]
    kept = [one for one in every if one.issue not in held_out]
    if len({one.issue for one in kept}) < len(kept):
        raise BadPlan(f"{path} has two tasks of one issue; give each issue one")
    if not kept:
        raise BadPlan(
            f"none of the {len(every)} tasks in {path} may be learnt from: "
            + ("their issues are held out for evaluation" if every else "there are none")
        )
    return kept


def _task(line: str, folder: Path, where: str) -> AgentTask:
    try:
        told = json.loads(line)
        if told["format"] != FORMAT:
            raise BadPlan(f"{where} is {told['format']!r}, and {FORMAT} is understood here")
        issue = Issue(str(told["title"]), str(told["body"]))
        tree = folder / told["tree"]
    except (ValueError, KeyError, TypeError) as error:
        raise (
            error if isinstance(error, BadPlan) else BadPlan(f"{where} is no task: {error!r}")
        ) from error
    if not tree.is_dir():
        raise BadPlan(f"{where}: there is no folder {tree}")
    return AgentTask(str(told["issue"]), issue, tree)
