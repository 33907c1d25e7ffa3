"""Real services for tests: databases from a migrated template, a broker, and child processes.

One PostgreSQL and one Valkey serve a whole session; pytest-xdist gives each of its workers a session.
"""

import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import redis

from app.db import migrate
from app.db.tables.schema import metadata
from app.operator.embedded import Embedded
from app.settings import build_child_environment

TEMPLATE = "r4p_template"
SHARED = "r4p_tests"
SECRET = b"a secret of the tests"
ROOT = Path(__file__).parents[1]

# A test's database does not outlive the test, so nothing has to reach the disk.
_NOT_DURABLE = ("fsync", "synchronous_commit", "full_page_writes")
_TABLES = list(reversed(metadata.sorted_tables))
_EMPTY = (
    "do $$ begin "
    + "".join(f"delete from {table.name}; " for table in _TABLES)
    + "".join(
        f"perform setval(pg_get_serial_sequence('{table.name}', 'id'), 1, false); "
        for table in _TABLES
        if "id" in table.c and table.c.id.identity is not None
    )
    + "end $$"
)
_THROW_OUT = (
    "select pg_terminate_backend(pid) from pg_stat_activity"
    " where datname = current_database() and pid <> pg_backend_pid()"
)


@dataclass
class Services:
    """The session's servers."""

    embedded: Embedded
    _cleaner: psycopg.Connection | None = None
    """Stays connected to the shared database: a new connection would plan every statement anew."""
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def redis_url(self) -> str:
        return self.embedded.redis_url

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a fresh database at head, dropped afterwards."""
        name = f"test_{next(self._numbers)}"
        url = self.embedded.create_database(name, template=TEMPLATE)
        try:
            yield url
        finally:
            self.embedded.drop_database(name)

    def clean_database(self) -> str:
        """The URL of the database that tests share one after the other: at head, and empty.

        Emptying one takes a millisecond, making one a third of a second.
        """
        url = self.embedded.build_url(SHARED)
        if self._cleaner is None or not _answers(self._cleaner):
            self._cleaner = psycopg.connect(url, autocommit=True)
        self._cleaner.execute(_THROW_OUT)
        self._cleaner.execute(_EMPTY)
        return url

    def disconnect(self) -> None:
        """Close our connection; does nothing when there is none."""
        if self._cleaner is not None:
            self._cleaner.close()

    @contextmanager
    def broker(self) -> Iterator[redis.Redis]:
        """A client of the broker, which is empty before and after."""
        path = self.redis_url.removeprefix("redis+socket://")
        client = redis.Redis(unix_socket_path=path)
        try:
            client.flushall()
            yield client
            client.flushall()
        finally:
            client.close()


@contextmanager
def running() -> Iterator[Services]:
    """Both servers, with a migrated template database, in a directory that is removed."""
    data = Path(tempfile.mkdtemp(prefix="r4p-tests-"))
    try:
        with Embedded(data) as embedded:
            _write_lazily(embedded.database_url)
            migrate.upgrade(embedded.create_database(TEMPLATE))
            embedded.create_database(SHARED, template=TEMPLATE)
            services = Services(embedded)
            try:
                yield services
            finally:
                services.disconnect()
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _answers(connection: psycopg.Connection) -> bool:
    """Whether the server was not restarted since."""
    try:
        connection.execute("select")
    except psycopg.OperationalError:
        return False
    return True


def _write_lazily(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for setting in _NOT_DURABLE:
            connection.execute(f"alter system set {setting} = off")
        connection.execute("select pg_reload_conf()")


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Return once the condition holds; fail when it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {condition}"
        time.sleep(0.01)


@dataclass
class Child:
    """A child process in a session of its own, so that all it forks can be ended with it."""

    popen: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    def send(self, number: signal.Signals) -> None:
        """Signal the process and all that it forked."""
        os.killpg(self.popen.pid, number)

    def says(self) -> str:
        return self.log.read_text(errors="replace")


@contextmanager
def child(
    arguments: list[str],
    environment: dict[str, str],
    log: Path,
    *,
    python: str | Path = sys.executable,
) -> Iterator[Child]:
    """`python -m ARGUMENTS`, killed with everything it forked at the end, also when the tests are killed."""
    with log.open("wb") as output:
        popen = subprocess.Popen(
            [str(python), "-m", *arguments],
            cwd=ROOT,
            env=build_child_environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    started = Child(popen, log)
    # Its end of the pipe closes with this process, however that ends.
    guard = subprocess.Popen(
        ["/bin/sh", "-c", 'read -r _; kill -KILL "-$1"', "r4p-guard", str(popen.pid)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield started
    finally:
        guard.kill()
        guard.communicate()
        with suppress(ProcessLookupError):  # it is gone already
            started.send(signal.SIGKILL)
        popen.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
