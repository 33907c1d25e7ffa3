"""`r4p train status` and `r4p train start`: what was trained lately, how far it is, and a training by hand."""

import json
import sys
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from sqlalchemy import Engine

from app.db.session import opened, transaction
from app.db.store.models import trainings
from app.db.store.queue import jobs
from app.jobs.job import OF_THE_APP, Planned
from app.jobs.learning_jobs import TrainModel
from app.learning.training_plan import State, Training
from app.settings import DatabaseSettings, TrainSettings, load

_SHOWN = ("step", "of", "reward", "entropy", "clip_high", "format_valid", "tokens_per_second")
_SILENT_SECONDS = 300.0
"""A training that nobody worked on for so long was left."""


def show(*, as_json: bool) -> int:
    """Print the newest trainings. 0: printed."""
    with _database() as database, transaction(database) as connection:
        found = trainings.newest(connection)
    if as_json:
        sys.stdout.write(json.dumps([_document(one) for one in found], indent=2) + "\n")
    else:
        shown = _table(found, datetime.now(UTC)) if found else _none()
        Console().print(shown, soft_wrap=not found)
    return 0


def start() -> int:
    """Have the train worker begin a training, or go on with one that was left. 2: no plan is set."""
    if load(TrainSettings).train_plan is None:
        sys.stderr.write(
            "r4p: R4P_TRAIN_PLAN is not set: name a plan, such as r4p-qwen2.5-coder-0.5b\n"
        )
        return 2
    with _database() as database, transaction(database) as connection:
        jobs.enqueue(connection, [Planned(TrainModel(OF_THE_APP, asked=True), wish="operator")])
    sys.stdout.write("a training begins as soon as the train worker is free: r4p train status\n")
    return 0


def progress_of(training: Training) -> str:
    """How far a run is, in a few words."""
    known = training.progress
    if not known:
        return ""
    more = [f"{name} {_short(known[name])}" for name in _SHOWN[2:] if known.get(name) is not None]
    return ", ".join([f"step {known.get('step')} of {known.get('of')}", *more])


def _database() -> AbstractContextManager[Engine]:
    return opened(load(DatabaseSettings).database_url)


def _none() -> str:
    if load(TrainSettings).train_plan is None:
        return "Nothing is trained: R4P_TRAIN_PLAN is not set."
    return "Nothing was trained yet. The train worker asks by itself; at once: r4p train start"


def _document(one: Training) -> dict[str, Any]:
    return {
        "id": one.id,
        "state": one.state,
        "stage": one.stage,
        "why": one.why,
        "plan": one.plan,
        "launcher": one.launcher,
        "launches": one.launches,
        "folder": str(one.folder),
        "labels": one.labels
        and {
            "issues": one.labels.issues,
            "correct": one.labels.correct,
            "incorrect": one.labels.incorrect,
        },
        "progress": dict(one.progress),
        "model": one.model,
        "created_at": _iso(one.created_at),
        "beat_at": _iso(one.beat_at),
        "finished_at": _iso(one.finished_at),
    }


def _table(found: list[Training], now: datetime) -> Table:
    table = Table(title="Trainings", title_justify="left", show_edge=False)
    for heading in ("Id", "State", "Begun", "Plan", "Issues", "Progress", "Model", "Why"):
        table.add_column(heading, overflow="fold")
    for one in found:
        table.add_row(
            str(one.id),
            f"{one.state}: {one.stage}" if one.state is State.RUNNING else str(one.state),
            f"{one.created_at:%Y-%m-%d %H:%M}" if one.created_at else "",
            escape(one.plan),
            str(one.labels.issues) if one.labels else "",
            progress_of(one),
            one.model or "",
            escape(one.why or _left(one, now)),
        )
    return table


def _left(one: Training, now: datetime) -> str:
    """A running one that is silent was left by its worker."""
    if one.state is not State.RUNNING or one.beat_at is None:
        return ""
    silent = (now - one.beat_at).total_seconds()
    if silent < _SILENT_SECONDS:
        return ""
    return f"nobody has worked on it for {silent / 60:.0f} minutes; is a worker on the queue train?"


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _iso(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds") if moment else None
