"""`r4p train status` and `r4p train start`: the last trainings, their progress, and a training by hand."""

import sys
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app.db.session import open_database, transaction
from app.db.store.models import trainings
from app.db.store.queue import jobs
from app.jobs.job import OF_THE_APP, Planned
from app.jobs.learning_jobs import TrainModel
from app.learning.training_plan import Training, TrainingState
from app.settings import DatabaseSettings, TrainSettings, check, load
from model.commands.exit_codes import print_json

_SHOWN = ("step", "of", "reward", "entropy", "clip_high", "format_valid", "tokens_per_second")
_SILENT_SECONDS = 300.0
"""Seconds without a sign of life after which a training counts as abandoned."""


def show(*, as_json: bool) -> int:
    """Print the newest trainings as a table or as JSON. Returns exit code 0."""
    check(DatabaseSettings, TrainSettings)
    with open_database() as database, transaction(database) as connection:
        newest = trainings.list_newest(connection)
    if as_json:
        print_json([_document(training) for training in newest])
    else:
        output = _build_table(newest, datetime.now(UTC)) if newest else _explain_none()
        Console().print(output, soft_wrap=not newest)
    return 0


def start() -> int:
    """Store a job that makes the train worker start or resume a training.

    Returns the exit code: 2 if no plan is set, else 0.
    """
    check(DatabaseSettings, TrainSettings)
    if load(TrainSettings).train_plan is None:
        sys.stderr.write(
            "r4p: R4P_TRAIN_PLAN is not set: set it to a plan, such as r4p-qwen2.5-coder-0.5b\n"
        )
        return 2
    with open_database() as database, transaction(database) as connection:
        jobs.enqueue(connection, [Planned(TrainModel(OF_THE_APP, asked=True), wish="operator")])
    sys.stdout.write("the training starts when the train worker is free: see r4p train status\n")
    return 0


def format_progress(training: Training) -> str:
    """Return the progress of a training on one line, such as `step 3 of 100, reward 0.4`; empty: none yet."""
    progress = training.progress
    if not progress:
        return ""
    more = [
        f"{name} {_shorten(progress[name])}"
        for name in _SHOWN[2:]
        if progress.get(name) is not None
    ]
    return ", ".join([f"step {progress.get('step')} of {progress.get('of')}", *more])


def _explain_none() -> str:
    if load(TrainSettings).train_plan is None:
        return "The bot trains nothing: R4P_TRAIN_PLAN is not set."
    return "There is no training yet. The train worker starts training by itself; to start now: r4p train start"


def _document(training: Training) -> dict[str, Any]:
    return {
        "id": training.id,
        "state": training.state,
        "stage": training.stage,
        "why": training.why,
        "plan": training.plan,
        "launcher": training.launcher,
        "launches": training.launches,
        "folder": str(training.folder),
        "labels": training.labels
        and {
            "issues": training.labels.issues,
            "correct": training.labels.correct,
            "incorrect": training.labels.incorrect,
        },
        "progress": dict(training.progress),
        "model": training.model,
        "created_at": _format_iso(training.created_at),
        "beat_at": _format_iso(training.beat_at),
        "finished_at": _format_iso(training.finished_at),
    }


def _build_table(rows: list[Training], now: datetime) -> Table:
    table = Table(title="Trainings", title_justify="left", show_edge=False)
    for heading in ("Id", "State", "Begun", "Plan", "Issues", "Progress", "Model", "Why"):
        table.add_column(heading, overflow="fold")
    for training in rows:
        table.add_row(
            str(training.id),
            f"{training.state}: {training.stage}"
            if training.state is TrainingState.RUNNING
            else str(training.state),
            f"{training.created_at:%Y-%m-%d %H:%M}" if training.created_at else "",
            escape(training.plan),
            str(training.labels.issues) if training.labels else "",
            format_progress(training),
            training.model or "",
            escape(training.why or _note_silence(training, now)),
        )
    return table


def _note_silence(training: Training, now: datetime) -> str:
    """Warn if a running training has no worker."""
    if training.state is not TrainingState.RUNNING or training.beat_at is None:
        return ""
    silent = (now - training.beat_at).total_seconds()
    if silent < _SILENT_SECONDS:
        return ""
    return (
        f"no worker has worked on it for {silent / 60:.0f} minutes; is a worker on the queue train?"
    )


def _shorten(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _format_iso(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds") if moment else None
