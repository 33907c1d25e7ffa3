"""Real PostgreSQL and Valkey from wheels, for the demo, `r4p up` and the tests.

Both use Unix sockets only, so they need no free port. In production, both are URLs instead.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psycopg
from psycopg import sql

from app.operator.embedded_servers import EmbeddedError, Postgres, Valkey, run_server

__all__ = ["Embedded", "EmbeddedError"]

_SOCKET_PATH_BYTES: Final = 100
"""Most bytes of a Unix socket's path. The limits are 104 on macOS and 108 on Linux."""

# A shell waits until our end of a pipe closes. It closes even when the kernel kills us.
_GUARD: Final = 'read -r _; kill -INT "$1" "$2"; sleep 2; [ -z "$3" ] || rm -rf "$3"'


@dataclass(slots=True)
class Embedded:
    """Runs PostgreSQL and Valkey on the data directory `data` while the context lasts.

    A second instance on the same directory fails while the first one runs. When this process is killed, the servers end
    by themselves. Committed data is there at the next start.
    """

    data: Path
    database_url: str = field(init=False, default="")
    """URL of the database `postgres` for psycopg and SQLAlchemy; empty before the start."""
    redis_url: str = field(init=False, default="")
    """`redis+socket:///…` for Celery; empty before the start."""
    postgres_pid: int = field(init=False, default=0)
    valkey_pid: int = field(init=False, default=0)
    _running: ExitStack = field(init=False, default_factory=ExitStack)

    def __enter__(self) -> Self:
        self.data = self.data.expanduser().resolve()
        self.data.mkdir(parents=True, exist_ok=True)
        with ExitStack() as starting:
            starting.enter_context(_lock_data(self.data))
            sockets = starting.enter_context(_open_socket_directory(self.data))
            postgres = Postgres(self.data / "postgres", sockets / "pg")
            valkey = Valkey(self.data / "valkey", sockets / "valkey")
            self.postgres_pid = starting.enter_context(run_server(postgres))
            self.valkey_pid = starting.enter_context(run_server(valkey))
            starting.enter_context(_guard(self.postgres_pid, self.valkey_pid, sockets, self.data))
            self.database_url = postgres.url
            self.redis_url = f"redis+socket://{valkey.socket}"
            self._running = starting.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop PostgreSQL and Valkey, and wait for their end. A second call does nothing."""
        self._running.close()

    def build_url(self, database: str) -> str:
        """Return the URL of the database `database` on the embedded PostgreSQL. The database need not exist."""
        return self.database_url.replace("/postgres?", f"/{database}?", 1)

    def create_database(self, name: str, *, template: str = "template1") -> str:
        """Create the database `name` as a copy of the database `template`, and return its URL.

        Nobody may be connected to the template meanwhile.
        """
        self._administer("create database {} template {}", name, template)
        return self.build_url(name)

    def drop_database(self, name: str) -> None:
        """Drop the database `name` and end its connections. A missing database is no error."""
        self._administer("drop database if exists {} with (force)", name)

    def _administer(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@contextmanager
def _lock_data(data: Path) -> Iterator[None]:
    with (data / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise EmbeddedError(
                f"{data} is in use by another process: stop it, or choose another directory"
            ) from None
        yield


@contextmanager
def _open_socket_directory(data: Path) -> Iterator[Path]:
    """Provide `data/run`, or a directory with a shorter path if that one is too long."""
    near = data / "run"
    if len(os.fsencode(near / "pg" / ".s.PGSQL.5432.lock")) < _SOCKET_PATH_BYTES:
        near.mkdir(mode=0o700, exist_ok=True)
        yield near
        return
    parent = tempfile.gettempdir()
    short = tempfile.mkdtemp(prefix="r4p-", dir=parent if len(os.fsencode(parent)) < 60 else "/tmp")  # noqa: S108 (mkdtemp makes it private)
    try:
        yield Path(short)
    finally:
        shutil.rmtree(short, ignore_errors=True)


@contextmanager
def _guard(postgres: int, valkey: int, sockets: Path, data: Path) -> Iterator[None]:
    """Start a shell that ends the servers when this process is killed."""
    throwaway = "" if sockets.is_relative_to(data) else str(sockets)
    shell = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "r4p-guard", str(postgres), str(valkey), throwaway],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        shell.kill()
        shell.communicate()
