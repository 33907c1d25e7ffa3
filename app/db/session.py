"""Create engines and transactions. Only this module opens connections through SQLAlchemy."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from psycopg.errors import UndefinedColumn, UndefinedTable
from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError, SQLAlchemyError

from app.settings import DatabaseSettings, load

DOWN: Final = 5
"""Exit code of a command whose database or engine is down."""


def create_database_engine(database_url: str, *, pool_size: int = 8) -> Engine:
    """Create a pooled SQLAlchemy engine for a `postgresql://` URL; it connects at its first use."""
    return create_engine(
        database_url.replace("postgresql://", "postgresql+psycopg://", 1),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 5, "application_name": "r4p"},
    )


@contextmanager
def open_engine(database_url: str) -> Iterator[Engine]:
    """Open a SQLAlchemy engine for one `r4p` command and close its connections afterwards.

    When the database is unusable or its schema has another revision, the function writes one line to standard error and
    raises SystemExit(DOWN).
    """
    database = create_database_engine(database_url, pool_size=1)
    try:
        yield database
    except OperationalError as error:
        fix = "Start it, or set R4P_DATABASE_URL to another one"
        raise _report_unusable(database_url, error, fix) from error
    except ProgrammingError as error:
        if not isinstance(error.orig, UndefinedTable | UndefinedColumn):
            raise
        fix = "Bring it to this version's revision: r4p migrate"
        raise _report_unusable(database_url, error, fix) from error
    finally:
        database.dispose()


def open_database() -> AbstractContextManager[Engine]:
    """Open the database of R4P_DATABASE_URL for one `r4p` command, like `open_engine`. Raises SettingsError."""
    return open_engine(load(DatabaseSettings).database_url)


def _report_unusable(database_url: str, error: DBAPIError, fix: str) -> SystemExit:
    """Write the error in one line without the password."""
    url = make_url(database_url)
    where = {name: value for name, value in url.query.items() if name in {"host", "port"}}
    shown, reason = url.set(query=where).render_as_string(), " ".join(str(error.orig).split())
    sys.stderr.write(f"r4p: {shown} can't be used: {reason} {fix}\n")
    return SystemExit(DOWN)


@contextmanager
def transaction(database: Engine) -> Iterator[Connection]:
    """Open one short transaction on a connection: committed at the end, rolled back on an exception.

    Never call GitHub or a language model's engine inside it.
    """
    with database.begin() as connection:
        yield connection


def is_ready(database: Engine) -> bool:
    """Return whether the database answers and has the table `jobs`, so that some schema revision is installed."""
    try:
        with database.connect() as connection:
            connection.execute(text("select from jobs limit 0"))
    except SQLAlchemyError:
        return False
    return True
