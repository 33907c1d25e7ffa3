"""Store all fitted calibrators, and which one each judge uses."""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Row, Select, insert, select, update

from app.db.tables.schema import calibrators
from app.outcomes.judgement import Judge
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


def load_active(connection: Connection, judge: Judge) -> StoredCalibrator | None:
    """Load the calibrator that the judge uses now; None if it uses none.

    Raises ValueError when it was saved under another schema or version of the calibration rules.
    """
    return _load_first(connection, _select_newest(judge).where(calibrators.c.state == "active"))


def load_newest(connection: Connection, judge: Judge) -> StoredCalibrator | None:
    """Load the judge's newest calibrator, whether in use or not; None if none is stored.

    Raises ValueError when it was saved under another schema or version of the calibration rules.
    """
    return _load_first(connection, _select_newest(judge))


def save(connection: Connection, new: NewCalibrator) -> int:
    """Save a calibrator and return its row id. If `new` is active, the judge's earlier active one is retired."""
    if new.is_active:
        connection.execute(
            update(calibrators)
            .where(*_match_judge(new.judge), calibrators.c.state == "active")
            .values(state="retired")
        )
    history = new.calibrator.history
    engine = new.judge.engine
    statement = insert(calibrators).values(
        verifier=new.judge.verifier,
        engine=engine.name,
        model=engine.model,
        prompt_fingerprint=engine.prompt_fingerprint,
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


def _select_newest(judge: Judge) -> Select[*tuple[object, ...]]:
    return (
        select(calibrators).where(*_match_judge(judge)).order_by(calibrators.c.id.desc()).limit(1)
    )


def _match_judge(judge: Judge) -> tuple[ColumnElement[bool], ...]:
    return (
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
