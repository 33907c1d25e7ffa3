"""Create engines and transactions. Only this module opens connections through SQLAlchemy."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from psycopg.errors import LockNotAvailable, QueryCanceled, UndefinedColumn, UndefinedTable
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError, SQLAlchemyError

from app.settings import DatabaseSettings, load

DOWN: Final = 5
"""Exit code of a command whose database or engine is down."""


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """How long PostgreSQL lets a connection work and wait, in seconds; 0: without a limit."""

    statement: float
    """For one statement."""
    lock: float
    """For one wait for a lock."""
    idle: float
    """For a transaction that sends nothing. PostgreSQL then ends the connection and releases its locks."""

    def build_statement(self) -> str:
        """Build the SQL statement that sets the limits for the rest of a connection."""
        values = {
            "statement_timeout": self.statement,
            "lock_timeout": self.lock,
            "idle_in_transaction_session_timeout": self.idle,
        }
        calls = (
            f"set_config('{name}', '{value * 1_000:.0f}', false)" for name, value in values.items()
        )
        return f"select {', '.join(calls)}"


WEB_LIMITS: Final = TimeLimits(statement=5, lock=3, idle=5)
"""For webhooks, which are answered with 503 after 4 seconds."""
HEALTH_LIMITS: Final = TimeLimits(statement=3, lock=3, idle=3)
WORKER_LIMITS: Final = TimeLimits(statement=300, lock=30, idle=60)
COMMAND_LIMITS: Final = TimeLimits(statement=600, lock=60, idle=600)
MIGRATION_LIMITS: Final = TimeLimits(statement=0, lock=0, idle=0)
"""None: a new index may take hours. `migrations/env.py` limits the waits for locks of tables."""


def create_database_engine(
    database_url: str,
    *,
    pool_size: int = 8,
    limits: TimeLimits = WORKER_LIMITS,
    process: str = "command",
) -> Engine:
    """Create a pooled SQLAlchemy engine for a `postgresql://` URL; it connects at its first use.

    `limits` hold on each of its connections. PostgreSQL shows `process` and our version with each of them.
    """
    database = create_engine(
        database_url.replace("postgresql://", "postgresql+psycopg://", 1),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 5, "application_name": name_connection(process)},
    )

    @event.listens_for(database, "connect")
    def set_limits(connection: DBAPIConnection, _record: object) -> None:
        # A statement and no startup option, because connection poolers refuse unknown options.
        connection.cursor().execute(limits.build_statement())
        connection.commit()

    return database


def name_connection(process: str) -> str:
    """Return the name by which PostgreSQL shows a connection of a kind of process, such as `r4p-worker 0.1.0`."""
    return f"r4p-{process} {version('r4p-bot')}"


@contextmanager
def open_engine(database_url: str, limits: TimeLimits = COMMAND_LIMITS) -> Iterator[Engine]:
    """Open a SQLAlchemy engine for one `r4p` command and close its connections afterwards.

    `limits` hold on its connections. When the database is unusable or its schema has another revision, the function writes one line to standard error and
    raises SystemExit(DOWN).
    """
    database = create_database_engine(database_url, pool_size=1, limits=limits)
    try:
        yield database
    except OperationalError as error:
        fix = "Start it, or set R4P_DATABASE_URL to another one"
        if isinstance(error.orig, QueryCanceled | LockNotAvailable):
            fix = "It is busy: find the long transaction in pg_stat_activity, then try again"
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
