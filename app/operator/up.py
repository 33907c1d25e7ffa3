"""`r4p up`: runs the whole bot under one parent with embedded PostgreSQL and Valkey."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from app.db import migrate, process_roles
from app.jobs.job import Queue
from app.operator.doctor.finding import format_lines
from app.operator.doctor.report import WITH_DEFAULTS, list_findings
from app.operator.doctor.webhook_checks import describe_address
from app.operator.embedded import Embedded, EmbeddedError
from app.operator.embedded_servers import get_size, read_last_lines
from app.operator.processes import (
    TESTER,
    TRAINER,
    WRITER,
    Process,
    list_processes,
    list_queue_mistakes,
)
from app.operator.setup.setup_server import serve_setup
from app.settings import (
    USAGE,
    DatabaseSettings,
    GitHubSettings,
    OperationsSettings,
    Settings,
    WebhookSettings,
    build_child_environment,
    data_folder,
    find_engine_mistake,
    find_mistakes,
    load,
    refuse,
    set_environment,
)
from app.web.listen_address import Listen

START_SECONDS = 60
STOP_SECONDS = 30
RESTARTS = 5
"""Most restarts of a child within an hour."""


class BotDown(Exception):
    """A process of the bot died or never answered. The message ends with the last lines of its log."""


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
    """Settings by name (`R4P_…`) that change this process's environment."""
    services: Embedded = field(init=False)
    children: list[_Child] = field(init=False, default_factory=list)
    operations: Listen = field(init=False)
    """Address of `/metrics` and `/readyz`."""
    _running: ExitStack = field(init=False)
    """Everything that ends with the bot, the last started first."""

    @property
    def url(self) -> str:
        """Base URL of the bot's web process, which receives webhooks."""
        return self.listen.url

    @property
    def operations_url(self) -> str:
        """Base URL of `/metrics` and `/readyz`."""
        return self.operations.url

    def __enter__(self) -> Self:
        self.listen = self.listen.resolve_port()
        chosen = load(OperationsSettings)
        names = ("R4P_OPS_HOST", "R4P_OPS_PORT")
        self.operations = Listen(chosen.ops_host, chosen.ops_port, names).resolve_port()
        logs = self.data / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        with ExitStack() as started:
            self.services = started.enter_context(Embedded(self.data / "services"))
            data_folder.write_addresses(
                self.data, self.services.database_url, self.services.redis_url
            )
            started.callback(data_folder.remove_addresses, self.data)
            started.callback(self._stop_children)
            migrate.upgrade(self.services.database_url)
            process_roles.create_roles(self.services.database_url, can_log_in=True)
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
        """Stop all children, the web process first, so that no new work arrives."""
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
            dead = next((c for c in self.children if c.popen.poll() is not None), None)
            if dead or time.monotonic() > deadline:
                child = dead or self.children[0]
                raise BotDown(f"{child.process.name} did not start:\n{child.tail()}")
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        try:
            return (
                httpx.get(f"{self.operations_url}/readyz", timeout=2).status_code == httpx.codes.OK
            )
        except httpx.TransportError:
            return False


def choose_processes(listen: Listen, changes: Mapping[str, str]) -> tuple[Process, ...]:
    """Return the processes that `r4p up` starts with this environment and `changes`, new values by name.

    The web process listens on `listen`. The result has a writer process only if a writer App is configured, a trainer
    only if a training plan is set, and a tester only if a folder of test environments is set.
    """
    environment = build_child_environment(changes)
    wanted = {WRITER: "R4P_WRITER_APP_ID", TRAINER: "R4P_TRAIN_PLAN", TESTER: "R4P_TESTS"}
    more = [process for process, setting in wanted.items() if environment.get(setting)]
    return (*list_processes(listen.host, listen.port), *more)


def run(data: Path, listen: Listen, *, engine_url: str | None, model: str | None) -> int:
    """Run the whole bot for `r4p up` until SIGINT or SIGTERM. Returns the exit code.

    `data` is its folder. `engine_url` and `model` replace R4P_ENGINE_URL and R4P_MODEL; None keeps them. Raises
    SettingsError for settings with which the bot cannot start, before the folder exists.
    """
    if engine_url and (why := find_engine_mistake(engine_url)):
        refuse([f"--engine-url: {why}"])
    options = {"R4P_ENGINE_URL": engine_url, "R4P_MODEL": model}
    set_environment({name: value for name, value in options.items() if value})
    try:
        data_folder.use_settings(data, data_folder.SECRET_FILES)
    except data_folder.BadFolder as error:
        sys.stderr.write(f"r4p up: {error}\n")
        return USAGE
    queues = [name for process in choose_processes(listen, {}) for name in process.queues]
    without_app = [name for name in queues if name != Queue.GITHUB]
    needs_setup = not data_folder.is_app_set()
    if needs_setup and not _list_mistakes(without_app):
        sys.stderr.write(f"r4p: the bot will keep its data in {data}\n")
    else:
        needs_setup = False
        _check_settings(queues)
        listen.check()
    try:
        for folder in (data, data / "logs", data / "services"):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.stderr.write(_explain_folder(data, error))
        return USAGE
    if needs_setup:
        listen = listen.resolve_port()
        if not serve_setup(data, listen):
            return 0
        data_folder.use_settings(data, data_folder.SECRET_FILES)
        _check_settings(queues)
    return _run_bot(data, listen)


def _check_settings(queues: Sequence[str]) -> None:
    """Raise SettingsError with every mistake in the settings that a child would refuse."""
    if lines := _list_mistakes(queues, GitHubSettings, WebhookSettings):
        refuse(lines)


def _list_mistakes(queues: Sequence[str], *app_kinds: type[Settings]) -> list[str]:
    """Return the mistakes in the settings of all children, one line each. `app_kinds` read the settings of the App."""
    # The bot brings the database's address, so the environment's own, missing or wrong, is no mistake.
    stores = [
        line for line in find_mistakes(DatabaseSettings) if not line.startswith("R4P_DATABASE_URL:")
    ]
    return [*list_queue_mistakes(queues, (*app_kinds, *WITH_DEFAULTS)), *stores]


def _run_bot(data: Path, listen: Listen) -> int:
    """Run the bot with the settings of this process's environment. Returns the exit code."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        with Bot(data, listen, {}) as bot:
            data_folder.use_running_bot(data)
            report_start(bot.listen.local_url, data)
            while not stopped.wait(1.0):
                bot.check()
    except (BotDown, EmbeddedError) as error:
        sys.stderr.write(f"r4p: {error}\n")
        return 1
    return 0


def report_start(url: str, data: Path) -> None:
    """Print where the bot listens and keeps its data, then what `r4p doctor` finds."""
    facts = (
        f"r4p: up at {url}; Ctrl-C stops it",
        f"      webhook  {describe_address(url)}",
        f"      data     {data.resolve()}, logs in {(data / 'logs').resolve()}",
    )
    sys.stderr.write("\n".join(facts) + "\n")
    sys.stderr.write("\n".join(format_lines(list(list_findings(data)))) + "\n")


def _explain_folder(data: Path, error: OSError) -> str:
    why = (
        "is a file" if isinstance(error, FileExistsError) else f"can't be created: {error.strerror}"
    )
    return f"r4p up: {error.filename or data} {why}; give --data a folder that you may write to\n"
