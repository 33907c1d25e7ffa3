"""Turn the tasks of a gym into labelled groups: the true patch of an issue beside its wrong candidates."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from model.domain import Patch, PatchId
from model.errors import BadGroups
from model.evaluation.labelled_group import LabelledGroup, LabelledPatch
from model.gyms.gym_folder import read_gym
from model.gyms.gym_task import GymCandidate, GymTask

_TRUE = "true"


def list_candidates(task: GymTask) -> list[GymCandidate]:
    """Return the candidates of a task, each text once, in an order that tells nothing.

    The true patch is added where no candidate is known to resolve the task.
    """
    candidates = list(task.candidates)
    if not any(candidate.resolved for candidate in candidates):
        candidates.append(GymCandidate(_TRUE, task.patch, resolved=True, source=_TRUE))
    by_text = {_end_line(candidate.patch): candidate for candidate in candidates}
    return sorted(by_text.values(), key=lambda candidate: _hash(task, candidate))


def _end_line(diff: str) -> str:
    """Return a diff with a last line end. Blank lines at its end are context, and stay."""
    return diff if not diff or diff.endswith("\n") else f"{diff}\n"


def _hash(task: GymTask, candidate: GymCandidate) -> str:
    text = f"{task.id}\0{_end_line(candidate.patch)}"
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def read_groups(folder: Path) -> list[LabelledGroup]:
    """Return the labelled groups of the gym `folder`. Raises BadGym, and BadGroups if it has none."""
    if groups := build_groups(read_gym(folder).tasks):
        return groups
    raise BadGroups(
        f"gym {folder} has no task with a correct and an incorrect candidate; build it with candidates"
    )


def build_groups(tasks: Iterable[GymTask]) -> list[LabelledGroup]:
    """Return a labelled group for each task with a correct and an incorrect candidate.

    Candidates whose truth is not known are left out. The others are called `candidate-1`, `candidate-2`, …
    """
    groups = map(_build, tasks)
    return [group for group in groups if len({patch.resolved for patch in group.patches}) == 2]


def _build(task: GymTask) -> LabelledGroup:
    labelled = [item for item in list_candidates(task) if item.resolved is not None]
    return LabelledGroup(
        instance_id=task.id,
        repo=task.repository,
        issue=task.read_issue(),
        patches=tuple(
            LabelledPatch(
                Patch(PatchId(f"candidate-{number}"), _end_line(item.patch)),
                resolved=bool(item.resolved),
                source=item.source,
            )
            for number, item in enumerate(labelled, 1)
        ),
        language="Python",
        licence=task.licence,
    )
