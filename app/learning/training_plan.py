"""When the bot trains a model, on what, and how far a training has come (pure).

A training is a row of `trainings` and a folder. It goes through its stages in order; each leaves a file by which it is
known to be done, so that whoever takes a training over begins where it was left.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

LAUNCHES: Final = 5
"""How often one stage of a training is started before it is given up."""
_MEASURED_ON: Final = frozenset({"test", "repositories"})
"""Splits of which the gate makes its sets."""


class Stage(StrEnum):
    """What is being done, in this order."""

    DATASET = "dataset"
    RUN = "run"
    EVALUATE = "evaluate"
    REGISTER = "register"


class State(StrEnum):
    """What became of a training."""

    RUNNING = "running"
    FINISHED = "finished"
    """A model came of it that passed the gate."""
    REJECTED = "rejected"
    """A model came of it that the gate refused; it is kept, and judges nothing."""
    SKIPPED = "skipped"
    """Not enough to learn from, so nothing was trained."""
    FAILED = "failed"


class Launcher(StrEnum):
    """What starts the stages that compute."""

    SUBPROCESS = "subprocess"
    SLURM = "slurm"
    KUBERNETES = "kubernetes"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class Labels:
    """What a dataset holds to learn from."""

    issues: int = 0
    """Issues with labelled patches, those to measure on included."""
    correct: int = 0
    """Seats with a patch that is rather correct than not."""
    incorrect: int = 0
    test: int = 0
    """Issues of the largest set by which the gate decides: one split, labelled by one source."""


@dataclass(frozen=True, slots=True)
class HeldIssue:
    """An issue in a dataset."""

    key: str
    source: str
    """Who labelled it: outcomes or a benchmark."""
    split: str


@dataclass(frozen=True, slots=True)
class Training:
    """One training as stored."""

    id: int
    state: State
    stage: Stage
    why: str
    """Why it is in that state; empty while it runs well."""
    plan: str
    """Name of a plan, or its path."""
    folder: Path
    """Holds everything of this training: `dataset/`, `run/` and logs."""
    launcher: Launcher
    launches: int = 0
    """How often the stage at hand was started."""
    labels: Labels | None = None
    """None: no dataset was built yet."""
    progress: Mapping[str, Any] = field(default_factory=dict)
    """The newest line of `run/metrics.jsonl`."""
    digest: str = ""
    """Of the plan and the settings with which it was begun."""
    model: str | None = None
    """The name under which what it made was registered."""
    created_at: datetime | None = None
    beat_at: datetime | None = None
    """When somebody last worked on it."""
    finished_at: datetime | None = None

    @property
    def dataset(self) -> Path:
        """Where its dataset is."""
        return self.folder / "dataset"

    @property
    def run(self) -> Path:
        """Where the trainer writes."""
        return self.folder / "run"


def is_due(last: Training | None, now: datetime, every: timedelta) -> bool:
    """Whether to ask again: nobody did within `every`, or what was begun has not ended."""
    if last is None or last.state is State.RUNNING:
        return True
    return last.created_at is None or now - last.created_at >= every


def how_many_new(
    held: Collection[HeldIssue], before: Collection[HeldIssue], issues_before: int
) -> int:
    """Issues that were not learnt from before; by their number alone where it is not known any more which those were."""
    keys = {one.key for one in held}
    if not before:
        return max(len(keys) - issues_before, 0)
    return len(keys - {one.key for one in before})


def why_not(
    labels: Labels, new: int, least_new: int, least_test: int = 0, failed: Training | None = None
) -> str | None:
    """Why nothing is trained on these labels, with so many new issues; None: they are enough.

    Somebody who asks for a training is refused only what can't teach anything; the clock needs `least_new` new issues,
    and `least_test` to measure on (0 and 0: as somebody who asks). `failed`: the one since which they are new, if it
    failed with the same plan and settings: then one is needed at least.
    """
    if labels.issues == 0 or labels.correct + labels.incorrect == 0:
        return (
            "no patch has a label: the corpus is empty, or all that is known of its patches is unknown. Labels come of"
            " outcomes that have matured, in repositories with `training: on` in .github/r4p.yml"
        )
    if labels.correct == 0 or labels.incorrect == 0:
        only = "correct" if labels.correct else "incorrect"
        many = labels.correct or labels.incorrect
        return f"every labelled patch ({many}) is {only}: who always says so is always right, so nothing can be learnt"
    if failed is not None and new < max(least_new, 1):
        return (
            f"training {failed.id} failed with the same plan and settings, and {new} issues with labels are new since: "
            f"change those, or try again with r4p train start. It said: {failed.why}"
        )
    if new < least_new:
        return f"{new} issues with labels are new, R4P_TRAIN_NEW_ISSUES asks for {least_new}"
    if labels.test < least_test:
        return (
            f"one source labelled {labels.test} issues to measure on at most, and the gate decides by {least_test} of one"
            " (R4P_TRAIN_TEST_ISSUES): what is trained now could not come into use"
        )
    return None


def labels_of(manifest: Mapping[str, Any], held: Collection[HeldIssue], seats: int = 4) -> Labels:
    """What a dataset's manifest (r4p.dataset/1) and issues say: of all splits, with the seats of what is learnt from.

    Raises KeyError for another document.
    """
    splits = manifest["splits"]
    issues = sum(one["issues"] for one in splits.values())
    train = splits["train"]
    correct = sum(int(many) * count for many, count in train["positives"].items())
    known = train["groups"] * seats - train["unknown"]
    sets = Counter((one.split, one.source) for one in held if one.split in _MEASURED_ON)
    return Labels(issues, correct, known - correct, max(sets.values(), default=0))
