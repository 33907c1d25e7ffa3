"""When the bot trains a model, and how far a training has come (pure).

A training is a row of `trainings` and a folder. It passes its stages in order. Each stage leaves a file that proves
its end, so another worker can resume the training there.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

LAUNCHES: Final = 5
"""Number of starts after which a stage is given up."""
_MEASURED_ON: Final = frozenset({"test", "repositories"})
"""Splits of which the gate builds its sets."""


class TrainingStage(StrEnum):
    """Stages of a training, in order."""

    DATASET = "dataset"
    RUN = "run"
    EVALUATE = "evaluate"
    REGISTER = "register"


class TrainingState(StrEnum):
    """State of a training: running, or its result."""

    RUNNING = "running"
    FINISHED = "finished"
    """The training made a model that passed the gate."""
    REJECTED = "rejected"
    """The training made a model that failed the gate. The bot keeps the model, but the model judges nothing."""
    SKIPPED = "skipped"
    """There was too little data, so nothing was trained."""
    FAILED = "failed"


class LauncherKind(StrEnum):
    """Programs that can start the run and the evaluation of a training."""

    SUBPROCESS = "subprocess"
    SLURM = "slurm"
    KUBERNETES = "kubernetes"
    RAY = "ray"


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """Numbers of labelled issues and patches in a training's dataset."""

    issues: int = 0
    """Issues with labelled patches in all splits."""
    correct: int = 0
    """Training seats whose patch is more probably correct than not."""
    incorrect: int = 0
    test: int = 0
    """Issues in the gate's largest set: one split, labelled by one source."""


@dataclass(frozen=True, slots=True)
class DatasetIssue:
    """An issue in a training's dataset, with the source of its labels and its split."""

    key: str
    source: str
    """Source of the labels: outcomes or a benchmark."""
    split: str


@dataclass(frozen=True, slots=True)
class Training:
    """One training of a model as stored: its state, stage, folder and progress."""

    id: int
    state: TrainingState
    stage: TrainingStage
    why: str
    """Reason of the state; empty while all is well."""
    plan: str
    """Name or path of the plan."""
    folder: Path
    """Folder of this training: `dataset/`, `run/` and logs."""
    launcher: LauncherKind
    launches: int = 0
    """How often the present stage was started."""
    labels: LabelCounts | None = None
    """None: no dataset was built yet."""
    progress: Mapping[str, Any] = field(default_factory=dict)
    """The newest line of `run/metrics.jsonl`."""
    digest: str = ""
    """Digest of the plan and the settings at the start."""
    model: str | None = None
    """The registered name of the trained model."""
    created_at: datetime | None = None
    beat_at: datetime | None = None
    """Time when a worker last worked on it."""
    finished_at: datetime | None = None

    @property
    def dataset(self) -> Path:
        """Path of the folder `dataset` in the training's folder."""
        return self.folder / "dataset"

    @property
    def run(self) -> Path:
        """Path of the folder `run` in the training's folder; the trainer writes there."""
        return self.folder / "run"


def is_due(last: Training | None, now: datetime, every: timedelta) -> bool:
    """Return whether it is time to start or resume a training; `last` is the newest training, None if none.

    It is time if no training began within the time `every` before `now`, or if the last one has not ended.
    """
    if last is None or last.state is TrainingState.RUNNING:
        return True
    return last.created_at is None or now - last.created_at >= every


def count_new_issues(
    held: Collection[DatasetIssue], before: Collection[DatasetIssue], issues_before: int
) -> int:
    """Count the issues in `held`, the issues of the new dataset, that the last training did not use.

    `before` holds the issues of the last dataset. If it is empty, the function subtracts their number `issues_before`.
    """
    keys = {issue.key for issue in held}
    if not before:
        return max(len(keys) - issues_before, 0)
    return len(keys - {issue.key for issue in before})


def explain_skip(
    labels: LabelCounts,
    new: int,
    least_new: int,
    least_test: int = 0,
    failed: Training | None = None,
) -> str | None:
    """Return why `labels` are too few for a training, in words; None if they are enough.

    `new` counts new issues. An automatic training needs `least_new` new issues and `least_test` issues to measure on. A
    person's request passes 0 for both. `failed` is the last training, if it failed with the same plan and settings.
    Then at least one new issue is necessary.
    """
    if labels.issues == 0 or labels.correct + labels.incorrect == 0:
        return (
            "no patch has a label: the corpus is empty, or no outcome decides anything yet. Labels come from mature"
            " outcomes in repositories with `training: on` in .github/r4p.yml"
        )
    if labels.correct == 0 or labels.incorrect == 0:
        only = "correct" if labels.correct else "incorrect"
        many = labels.correct or labels.incorrect
        return (
            f"every labelled patch ({many}) is {only}, and a model can learn only from both kinds"
        )
    if failed is not None and new < max(least_new, 1):
        return (
            f"training {failed.id} failed with the same plan and settings, and only {new} issues with labels are new: "
            f"change the plan or the settings, or run r4p train start. The error was: {failed.why}"
        )
    if new < least_new:
        return f"{new} issues with labels are new, but R4P_TRAIN_NEW_ISSUES is {least_new}"
    if labels.test < least_test:
        return (
            f"the largest test set of one source has {labels.test} issues, but the gate needs {least_test}"
            " (R4P_TRAIN_TEST_ISSUES): a model trained now could not be used"
        )
    return None


def count_labels(
    manifest: Mapping[str, Any], held: Collection[DatasetIssue], seats: int = 4
) -> LabelCounts:
    """Count the labels of a dataset from `manifest`, its r4p.dataset/1 document, and `held`, its issues.

    `seats` is the number of seats of a group. Raises KeyError if the manifest is another document.
    """
    splits = manifest["splits"]
    issues = sum(split["issues"] for split in splits.values())
    train = splits["train"]
    correct = sum(int(many) * count for many, count in train["positives"].items())
    labelled = train["groups"] * seats - train["unknown"]
    sets = Counter((issue.split, issue.source) for issue in held if issue.split in _MEASURED_ON)
    return LabelCounts(issues, correct, labelled - correct, max(sets.values(), default=0))
