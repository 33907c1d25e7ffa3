"""Real PostgreSQL and real Valkey from wheels, for the demo, `r4p up` and the tests.

Both speak over Unix sockets only, so no port can be taken. Not for production: there, both are URLs.
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

from app.operator.embedded_servers import EmbeddedError, Postgres, Valkey, up

__all__ = ["Embedded", "EmbeddedError"]

_SOCKET_PATH_BYTES: Final = 100
"""A Unix socket's whole path has to fit in this many bytes (104 on macOS, 108 on Linux)."""

# A shell waits for our end of a pipe to close, which it does even when we are killed.
_GUARD: Final = 'read -r _; kill -INT "$1" "$2"; sleep 2; [ -z "$3" ] || rm -rf "$3"'


@dataclass(slots=True)
class Embedded:
    """PostgreSQL and Valkey on one data directory, up while the context lasts.

    A second one on the same directory is refused while the first lives. When this process is
    killed, the servers end by themselves; what they had committed is there at the next start.
    """

    data: Path
    database_url: str = field(init=False, default="")
    """The database `postgres`, as psycopg and SQLAlchemy take it; empty until started."""
    redis_url: str = field(init=False, default="")
    """`redis+socket:///…`, as Celery takes it; empty until started."""
    postgres_pid: int = field(init=False, default=0)
    valkey_pid: int = field(init=False, default=0)
    _running: ExitStack = field(init=False, default_factory=ExitStack)

    def __enter__(self) -> Self:
        self.data = self.data.expanduser().resolve()
        self.data.mkdir(parents=True, exist_ok=True)
        with ExitStack() as starting:
            starting.enter_context(_sole_owner(self.data))
            sockets = starting.enter_context(_socket_directory(self.data))
            postgres = Postgres(self.data / "postgres", sockets / "pg")
            valkey = Valkey(self.data / "valkey", sockets / "valkey")
            self.postgres_pid = starting.enter_context(up(postgres))
            self.valkey_pid = starting.enter_context(up(valkey))
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
        """Stop both servers and wait until they are gone. Does nothing when they are."""
        self._running.close()

    def url(self, database: str) -> str:
        """The URL of a database of this server, which need not exist yet."""
        return self.database_url.replace("/postgres?", f"/{database}?", 1)

    def create_database(self, name: str, *, template: str = "template1") -> str:
        """Make a database as a copy of another that nobody is connected to. Returns its URL."""
        self._administer("create database {} template {}", name, template)
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, throwing out whoever is connected. Does nothing when there is none."""
        self._administer("drop database if exists {} with (force)", name)

    def _administer(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@contextmanager
def _sole_owner(data: Path) -> Iterator[None]:
    with (data / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise EmbeddedError(
                f"{data} is in use by another process: stop it, or choose another directory"
            ) from None
        yield


@contextmanager
def _socket_directory(data: Path) -> Iterator[Path]:
    """`data/run`, or a directory with a shorter name where that one's is too long."""
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
    """See to it that the servers end when this process is killed."""
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
