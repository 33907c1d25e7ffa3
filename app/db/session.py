"""Engines and transactions: the one place that opens connections through SQLAlchemy."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import SQLAlchemyError


def engine(database_url: str, *, pool_size: int = 8) -> Engine:
    """A pooled engine for a `postgresql://` URL. Opens nothing until first used."""
    return create_engine(
        database_url.replace("postgresql://", "postgresql+psycopg://", 1),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 5, "application_name": "r4p"},
    )


@contextmanager
def opened(database_url: str) -> Iterator[Engine]:
    """An engine for one short command; its connections are closed on leaving."""
    database = engine(database_url, pool_size=1)
    try:
        yield database
    finally:
        database.dispose()


@contextmanager
def transaction(database: Engine) -> Iterator[Connection]:
    """One short transaction: committed on leaving, rolled back on an exception.

    Never hold one while talking to GitHub or to an engine.
    """
    with database.begin() as connection:
        yield connection


def answers(database: Engine) -> bool:
    """Whether the database is there and migrated."""
    try:
        with database.connect() as connection:
            connection.execute(text("select from jobs limit 0"))
    except SQLAlchemyError:
        return False
    return True
