"""The running bot: embedded PostgreSQL and Valkey, and the child processes of `r4p up`."""

import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from app.db import migrate, process_roles
from app.operator.embedded import Embedded
from app.operator.embedded_servers import get_size, read_last_lines
from app.operator.processes import TESTER, TRAINER, WRITER, Process, list_processes
from app.settings import OperationsSettings, build_child_environment, data_folder, load
from app.web.listen_address import Listen

START_SECONDS = 60
"""Time that the web process has to answer `/readyz` with 200, from the start of the children. Then BotDown is raised."""
STOP_SECONDS = 30
"""Time that all children together have to end after SIGTERM. Then those that still run are killed."""
RESTARTS = 5
"""Most restarts of a child within an hour."""


class BotDown(Exception):
    """A process of the bot died or never answered, or somebody stopped the start.

    The message about a process ends with the last lines of its log.
    """


@dataclass(slots=True)
class _Child:
    process: Process
    log: Path
    since: int
    """Size of the log before this run, in bytes."""
    popen: subprocess.Popen[bytes]
    restarts: list[float] = field(default_factory=list)
    """Times of its restarts within the last hour, on the monotonic clock."""

    def tail(self) -> str:
        return read_last_lines(self.log, self.since, 15)


@dataclass(slots=True)
class Bot:
    """The running bot. Use it as a context manager, and call `check()` to restart dead child processes."""

    data: Path
    listen: Listen
    environment: Mapping[str, str]
    """Variables by name, laid over this process's environment for the children alone.

    This process reads the address of `/readyz` from its own environment.
    """
    stop_request: threading.Event = field(default_factory=threading.Event)
    """Set by a signal handler. The start then ends with BotDown before its next step."""
    services: Embedded = field(init=False)
    children: list[_Child] = field(init=False, default_factory=list)
    operations: Listen = field(init=False)
    """Address of `/metrics` and `/readyz`."""
    _running: ExitStack = field(init=False)
    """Everything that ends with the bot, the last started first."""

    @property
    def operations_url(self) -> str:
        """Base URL of `/metrics` and `/readyz` for a client on this machine."""
        return self.operations.local_url

    def __enter__(self) -> Self:
        self.listen = self.listen.resolve_port()
        self.operations = load_operations_address().resolve_port()
        logs = self.data / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        with ExitStack() as started:
            self.services = started.enter_context(Embedded(self.data / "services"))
            data_folder.write_addresses(
                self.data, self.services.database_url, self.services.redis_url
            )
            started.callback(data_folder.remove_addresses, self.data)
            started.callback(self._stop_children)
            self._heed_stop_request()
            migrate.upgrade(self.services.database_url)
            process_roles.create_roles(self.services.database_url, can_log_in=True)
            self._heed_stop_request()
            for process in choose_processes(self.listen, self.environment):
                log = logs / f"{process.name}.log"
                self.children.append(_Child(process, log, get_size(log), self._spawn(process, log)))
            self._await_ready()
            self._running = started.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running.__exit__(kind, error, trace)

    def check(self) -> None:
        """Restart the bot's dead child processes.

        Raises BotDown if a child dies again after RESTARTS restarts within an hour.
        """
        for child in self.children:
            if child.popen.poll() is None:
                continue
            now = time.monotonic()
            child.restarts = [moment for moment in child.restarts if now - moment < 3_600.0]
            if len(child.restarts) >= RESTARTS:
                raise BotDown(f"{child.process.name} keeps dying:\n{child.tail()}")
            child.restarts.append(now)
            child.popen = self._spawn(child.process, child.log)

    def _stop_children(self) -> None:
        """Send SIGTERM to all children at once, and wait for their end, at most STOP_SECONDS."""
        for child in self.children:
            if child.popen.poll() is None:
                child.popen.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for child in self.children:
            try:
                child.popen.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.popen.kill()
                child.popen.wait()
        self.children.clear()

    def _spawn(self, process: Process, log: Path) -> subprocess.Popen[bytes]:
        # The embedded server trusts every user of its socket, so here the roles find mistakes and stop no attacker.
        settings = {
            "R4P_CHECKOUT_DIR": str(self.data.resolve() / "checkouts"),
            "R4P_TREES": str(self.data.resolve() / "trees"),
            "R4P_TESTS_TREES": str(self.data.resolve() / "test-trees"),
            "R4P_TRAIN_DIR": str(self.data.resolve() / "trainings"),
            **self.environment,
            "R4P_DATABASE_URL": process_roles.build_role_url(
                self.services.database_url, process.name
            ),
            "R4P_REDIS_URL": self.services.redis_url,
            "R4P_OPS_PORT": str(self.operations.port),
        }
        with log.open("ab") as output:
            return subprocess.Popen(
                process.build_command(),
                env=process.build_environment(settings),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _await_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            # First, because a service manager may send its signal to the children as well.
            self._heed_stop_request()
            dead = next((c for c in self.children if c.popen.poll() is not None), None)
            if dead or time.monotonic() > deadline:
                child = dead or self.children[0]
                raise BotDown(f"{child.process.name} did not start:\n{child.tail()}")
            self.stop_request.wait(0.1)

    def _heed_stop_request(self) -> None:
        if self.stop_request.is_set():
            raise BotDown("the start was stopped")

    def _is_ready(self) -> bool:
        url = f"{self.operations_url}/readyz"
        try:
            # The address is our own, so no proxy of the environment may answer.
            return httpx.get(url, timeout=2, trust_env=False).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False


def load_operations_address() -> Listen:
    """Return the address of `/metrics` and `/readyz` in this process's settings. Raises SettingsError."""
    settings = load(OperationsSettings)
    return Listen(settings.ops_host, settings.ops_port, ("R4P_OPS_HOST", "R4P_OPS_PORT"))


def choose_processes(listen: Listen, changes: Mapping[str, str]) -> tuple[Process, ...]:
    """Return the processes that `r4p up` starts with this environment and `changes`, new values by name.

    The web process listens on `listen`. The result has a writer process only if a writer App is configured, a trainer
    only if a training plan is set, and a tester only if a folder of test environments is set.
    """
    environment = build_child_environment(changes)
    wanted = {WRITER: "R4P_WRITER_APP_ID", TRAINER: "R4P_TRAIN_PLAN", TESTER: "R4P_TESTS"}
    more = [process for process, setting in wanted.items() if environment.get(setting)]
    return (*list_processes(listen.host, listen.port), *more)
