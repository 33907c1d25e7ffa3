"""Store all fitted calibrators, and which one each judge uses.

A calibrator belongs to one installation, or to none: then it is shared by all installations.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Row, Select, insert, select, update
from sqlalchemy.dialects.postgresql import distinct_on

from app.db.tables.schema import calibrators
from app.outcomes.judgement import Judge
from app.values.identifiers import InstallationId
from model.calibration.calibration import Calibrator, from_json, to_json


@dataclass(frozen=True, slots=True)
class StoredCalibrator:
    """A calibrator with its row id. `seen` holds the ids of the groups on which it was fitted."""

    id: int
    calibrator: Calibrator
    seen: frozenset[int]


@dataclass(frozen=True, slots=True)
class NewCalibrator:
    """A fitted calibrator, and the decision whether its judge uses it."""

    judge: Judge
    calibrator: Calibrator
    brier: float
    """Brier score on held-out issues; lower is better."""
    label_rule: int
    """Version of the label rules; 0: not fitted on the bot's labels."""
    seen: frozenset[int]
    """Ids of the groups on which it was fitted."""
    is_active: bool
    why: str
    """Why it is used or refused."""
    installation: InstallationId | None = None
    """The installation on whose outcomes it was fitted; None: shared by all."""


@dataclass(frozen=True, slots=True)
class CalibratorReport:
    """The state of a stored calibrator, and the reason."""

    id: int
    verifier: str
    model: str
    installation: InstallationId | None
    """None: shared by all installations."""
    state: str
    why: str
    issues: int
    created_at: datetime


def load_active(
    connection: Connection, judge: Judge, installation: InstallationId | None
) -> StoredCalibrator | None:
    """Load the active calibrator of the judge that belongs to `installation` (None: the shared one), or None.

    Raises ValueError when it was saved under another schema or version of the calibration rules.
    """
    newest = _select_newest(judge, installation)
    return _load_first(connection, newest.where(calibrators.c.state == "active"))


def load_newest(
    connection: Connection, judge: Judge, installation: InstallationId | None
) -> StoredCalibrator | None:
    """Load the newest calibrator of a judge and an installation (None: shared), in use or not; None if none is stored.

    Raises ValueError when it was saved under another schema or version of the calibration rules.
    """
    return _load_first(connection, _select_newest(judge, installation))


def list_newest(connection: Connection) -> list[CalibratorReport]:
    """List the active and the last refused calibrator of each judge and installation, newest first."""
    scope = (*_JUDGE, calibrators.c.installation_id, calibrators.c.state)
    newest = (
        select(calibrators.c.id)
        .ext(distinct_on(*scope))
        .where(calibrators.c.state != "retired")
        .order_by(*scope, calibrators.c.id.desc())
    )
    rows = connection.execute(
        select(calibrators).where(calibrators.c.id.in_(newest)).order_by(calibrators.c.id.desc())
    )
    return [
        CalibratorReport(
            row.id,
            row.verifier,
            row.model,
            row.installation_id,
            row.state,
            row.why,
            row.issues,
            row.created_at,
        )
        for row in rows
    ]


def retire(connection: Connection, judge: Judge, installation: InstallationId | None) -> None:
    """Take the active calibrator of a judge and an installation (None: shared) out of use, if there is one."""
    connection.execute(
        update(calibrators)
        .where(*_match_scope(judge, installation), calibrators.c.state == "active")
        .values(state="retired")
    )


def save(connection: Connection, new: NewCalibrator) -> int:
    """Save a calibrator and return its row id. If `new` is active, the earlier one of the same scope is retired."""
    if new.is_active:
        retire(connection, new.judge, new.installation)
    history = new.calibrator.history
    engine = new.judge.engine
    statement = insert(calibrators).values(
        verifier=new.judge.verifier,
        engine=engine.name,
        model=engine.model,
        prompt_fingerprint=engine.prompt_fingerprint,
        installation_id=new.installation,
        state="active" if new.is_active else "refused",
        why=new.why,
        document=to_json(new.calibrator),
        label_rule=new.label_rule,
        issues=history.issues,
        correct=history.correct,
        incorrect=history.incorrect,
        seen=sorted(new.seen),
        brier=new.brier,
    )
    return int(connection.execute(statement.returning(calibrators.c.id)).scalar_one())


_JUDGE = (
    calibrators.c.verifier,
    calibrators.c.engine,
    calibrators.c.model,
    calibrators.c.prompt_fingerprint,
)


def _select_newest(
    judge: Judge, installation: InstallationId | None
) -> Select[*tuple[object, ...]]:
    where = _match_scope(judge, installation)
    return select(calibrators).where(*where).order_by(calibrators.c.id.desc()).limit(1)


def _match_scope(
    judge: Judge, installation: InstallationId | None
) -> tuple[ColumnElement[bool], ...]:
    return (
        calibrators.c.installation_id.is_not_distinct_from(installation),
        calibrators.c.verifier == judge.verifier,
        calibrators.c.engine == judge.engine.name,
        calibrators.c.model == judge.engine.model,
        calibrators.c.prompt_fingerprint == judge.engine.prompt_fingerprint,
    )


def _load_first(
    connection: Connection, query: Select[*tuple[object, ...]]
) -> StoredCalibrator | None:
    row: Row[*tuple[object, ...]] | None = connection.execute(query).one_or_none()
    if row is None:
        return None
    return StoredCalibrator(row.id, from_json(row.document), frozenset(row.seen))
