"""Store trainings: one runs at a time, and its worker writes under the fence of its job."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, or_, select, update

from app.db.tables.schema import trainings
from app.github.redaction import redact
from app.learning.training_plan import (
    LabelCounts,
    LauncherKind,
    Training,
    TrainingStage,
    TrainingState,
)

_TRAINED = (TrainingState.FINISHED, TrainingState.REJECTED)


def find_running(connection: Connection) -> Training | None:
    """Return the training that has not ended; None if none runs."""
    return _read_one(
        connection.execute(select(trainings).where(trainings.c.state == TrainingState.RUNNING))
    )


def find_last(connection: Connection) -> Training | None:
    """Return the newest training of any state; None if there was none."""
    return _read_one(connection.execute(select(trainings).order_by(trainings.c.id.desc()).limit(1)))


def list_newest(connection: Connection, limit: int = 20) -> list[Training]:
    """List the newest trainings, at most `limit`, newest first."""
    query = select(trainings).order_by(trainings.c.id.desc()).limit(limit)
    return [_build_training(row) for row in connection.execute(query)]


def find_last_learnt(connection: Connection, digest: str) -> Training | None:
    """Return the last training that made a model, or that failed with the same `digest`; None if there is none.

    `digest` is the hash of plan and settings. Trainings that failed while building their dataset do not count.
    """
    failed = and_(
        trainings.c.state == TrainingState.FAILED,
        trainings.c.stage != TrainingStage.DATASET,
        trainings.c.digest == digest,
    )
    query = select(trainings).where(or_(trainings.c.state.in_(_TRAINED), failed))
    return _read_one(connection.execute(query.order_by(trainings.c.id.desc()).limit(1)))


def begin(
    connection: Connection, plan: str, digest: str, parent: Path, launcher: LauncherKind
) -> Training:
    """Store a new training with a folder of its own below `parent`, and return the training.

    `plan` is a plan's name or path, and `digest` the hash of plan and settings. The folder is not created yet.
    """
    statement = insert(trainings).values(
        state=TrainingState.RUNNING,
        stage=TrainingStage.DATASET,
        why="",
        plan=plan,
        digest=digest,
        folder="",
        launcher=launcher,
        launches=0,
        progress={},
    )
    number = int(connection.execute(statement.returning(trainings.c.id)).scalar_one())
    return _change(connection, number, folder=str(parent / f"{number:06}"))


def reach_stage(
    connection: Connection, training: Training, stage: TrainingStage, labels: LabelCounts | None
) -> Training:
    """Save that a training enters the stage `stage`, and return the changed training.

    `labels` are the label counts of its dataset; None: not known yet. The number of starts becomes 0.
    """
    return _change(
        connection,
        training.id,
        stage=stage,
        launches=0,
        labels=asdict(labels) if labels else None,
    )


def launch(connection: Connection, training: Training) -> Training:
    """Record one more start of a training's present stage, and return the changed training. It starts nothing."""
    return _change(connection, training.id, launches=training.launches + 1)


def give_back(connection: Connection, training: Training) -> None:
    """Take a training's last start off its count, because its worker was stopped and its task did not fail."""
    _change(connection, training.id, launches=training.launches - 1)


def record_progress(
    connection: Connection, training: Training, progress: Mapping[str, Any], why: str = ""
) -> None:
    """Save the newest metrics of a training as its progress.

    `why` says what delays the training now; empty if nothing does.
    """
    _change(connection, training.id, progress=dict(progress), why=redact(why))


def end(
    connection: Connection,
    training: Training,
    state: TrainingState,
    why: str,
    model: str | None = None,
) -> None:
    """Save the final `state` of a training, its reason `why` and the registered name `model`, if any.

    Of skipped trainings only the newest is kept.
    """
    if state is TrainingState.SKIPPED:
        connection.execute(delete(trainings).where(trainings.c.state == TrainingState.SKIPPED))
    _change(
        connection, training.id, state=state, why=redact(why), model=model, finished_at=func.now()
    )


def _change(connection: Connection, number: int, **values: object) -> Training:
    statement = (
        update(trainings)
        .where(trainings.c.id == number)
        .values(beat_at=func.clock_timestamp(), **values)
        .returning(trainings)
    )
    return _build_training(connection.execute(statement).one())


def _read_one(rows: Any) -> Training | None:
    row = rows.one_or_none()
    return None if row is None else _build_training(row)


def _build_training(row: Row[*tuple[object, ...]]) -> Training:
    return Training(
        id=row.id,
        state=TrainingState(row.state),
        stage=TrainingStage(row.stage),
        why=row.why,
        plan=row.plan,
        digest=row.digest,
        folder=Path(row.folder),
        launcher=LauncherKind(row.launcher),
        launches=row.launches,
        labels=LabelCounts(**row.labels) if row.labels else None,
        progress=row.progress,
        model=row.model,
        created_at=row.created_at,
        beat_at=row.beat_at,
        finished_at=row.finished_at,
    )
