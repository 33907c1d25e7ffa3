"""`r4p up`: runs the whole bot under one parent with embedded PostgreSQL and Valkey."""

import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from app.jobs.job import Queue
from app.operator.bot import Bot, BotDown, choose_processes, load_operations_address
from app.operator.doctor.finding import format_lines
from app.operator.doctor.report import WITH_DEFAULTS, list_findings
from app.operator.doctor.webhook_checks import describe_address
from app.operator.embedded import EmbeddedError
from app.operator.processes import list_queue_mistakes
from app.operator.setup.setup_server import serve_setup
from app.settings import (
    USAGE,
    DatabaseSettings,
    GitHubSettings,
    Settings,
    WebhookSettings,
    data_folder,
    find_engine_mistake,
    find_mistakes,
    refuse,
    set_environment,
)
from app.web.listen_address import Listen


def run(data: Path, listen: Listen, *, engine_url: str | None, model: str | None) -> int:
    """Run the whole bot for `r4p up` until SIGINT or SIGTERM. Returns the exit code.

    `data` is its folder. `engine_url` and `model` replace R4P_ENGINE_URL and R4P_MODEL; None keeps them. Raises
    SettingsError for settings with which the bot cannot start and for an address that it cannot use. Both are checked
    before the folder exists. The settings that the setup stores are checked again after it.
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
    if not needs_setup:
        _check_settings(queues)
    elif lines := _list_mistakes(without_app):  # those of the App come from the setup
        refuse(lines)
    else:
        sys.stderr.write(f"r4p: the bot will keep its data in {data}\n")
    _check_addresses(listen)
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


def _check_addresses(listen: Listen) -> None:
    """Raise SettingsError unless this machine can open the bot's two addresses at the same time."""
    with listen.open_socket(), load_operations_address().open_socket():
        pass


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
    """Run the bot with the settings of this process's environment. Returns the exit code.

    A signal also ends a bot that is still starting.
    """
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        with Bot(data, listen, {}, stopped) as bot:
            data_folder.use_running_bot(data)
            report_start(bot.listen.local_url, data)
            while not stopped.wait(1.0):
                bot.check()
    except (BotDown, EmbeddedError) as error:
        if stopped.is_set():
            return 0
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
