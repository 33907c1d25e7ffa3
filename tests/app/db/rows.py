"""A realistic row for every table, made from the tables themselves so that none is forgotten."""

from datetime import UTC, date, datetime

from sqlalchemy import Boolean, CheckConstraint, Connection, DateTime, Float, LargeBinary, Table
from sqlalchemy import types as kinds
from sqlalchemy.dialects.postgresql import JSONB

from app.db.tables.schema import metadata

STATES = {
    "calibrators": "active",
    "jobs": "dead",
    "models": "champion",
    "evaluations": "published",
    "effects": "confirmed",
    "pull_requests": "merged",
    "groups": "closed",
    "trainings": "finished",
}


def fill(connection: Connection) -> None:
    """One row in each table, whose references hold."""
    ids: dict[tuple[str, str], object] = {}
    for table in metadata.sorted_tables:
        row = connection.execute(
            table.insert().values(**_values(table, ids)).returning(table)
        ).one()
        ids |= {(table.name, name): value for name, value in row._mapping.items()}


def _values(table: Table, ids: dict[tuple[str, str], object]) -> dict[str, object]:
    values: dict[str, object] = {}
    for column in table.columns:
        if column.identity is not None:
            continue
        references = [key.column for key in column.foreign_keys]
        if references and references[0].table is table:
            values[column.name] = None  # the first row has none before it
        elif references:
            values[column.name] = ids[references[0].table.name, references[0].name]
        elif column.name == "state" and _is_checked(table):
            values[column.name] = STATES[table.name]
        else:
            values[column.name] = _value(column.type)
    return values


def _is_checked(table: Table) -> bool:
    return table.name in STATES or any(
        isinstance(constraint, CheckConstraint) for constraint in table.constraints
    )


_SAMPLES: tuple[tuple[type[object], object], ...] = (
    (JSONB, {"text": "naïve ☃", "number": 7}),
    (kinds.ARRAY, ["1", ""]),
    (DateTime, datetime(2026, 11, 21, tzinfo=UTC)),
    (kinds.Date, date(2026, 11, 21)),
    (LargeBinary, b"\x00\xff{}"),
    (Boolean, True),
    (Float, 0.75),
    (kinds.Text, "text ☃"),
    (kinds.Integer, 2**31 - 1),
)


def _value(kind: object) -> object:
    return next(value for sample, value in _SAMPLES if isinstance(kind, sample))
