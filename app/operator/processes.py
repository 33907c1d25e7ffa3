"""The bot's processes: their queues, their secrets and how each starts."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.jobs.job import Queue
from app.process_guard import end_with_parent
from app.settings import (
    AgentSettings,
    BrokerSettings,
    CeilingSettings,
    ChildSettings,
    DatabaseSettings,
    EngineSettings,
    GitHubSettings,
    IdentitySettings,
    LogSettings,
    QueueSettings,
    RetentionSettings,
    RunSettings,
    Settings,
    SuiteSettings,
    TrainSettings,
    WriterSettings,
    build_child_environment,
    find_mistakes,
    get_interpreter,
    list_mistakes,
    load,
    refuse,
)
from model import catalog
from model.agents import agent_catalog as agents
from model.catalog import VotingChoice
from model.commands.extras import require_extras
from model.errors import IncompatibleOptions, TemplateError, UnknownAgent, UnknownVerifier
from model.interpreter import module_command

_WRITER_KEY = frozenset({"R4P_WRITER_PRIVATE_KEY", "R4P_WRITER_PRIVATE_KEY_PATH"})
SECRETS = _WRITER_KEY | {
    "R4P_WEBHOOK_SECRET",
    "R4P_PRIVATE_KEY",
    "R4P_PRIVATE_KEY_PATH",
    "R4P_ENGINE_API_KEY",
    "R4P_OAUTH_CLIENT_SECRET",
}

_STORES = frozenset({"R4P_DATABASE_URL", "R4P_REDIS_URL", "R4P_END_WITH_PARENT"})
"""Settings that are useful only near the database and the broker."""


@dataclass(frozen=True, slots=True)
class Process:
    """A child process: its arguments to `r4p`, and the secrets that it may see."""

    name: str
    arguments: tuple[str, ...]
    secrets: frozenset[str] = frozenset()

    @property
    def queues(self) -> tuple[str, ...]:
        """The names of a worker's queues; empty for a process that is no worker."""
        if self.arguments[0] != "worker":
            return ()
        return tuple(self.arguments[self.arguments.index("--queues") + 1].split(","))

    def build_command(self) -> list[str]:
        """Return the command line that starts this process."""
        return module_command("app.cli", *self.arguments)

    def build_environment(self, changes: dict[str, str]) -> dict[str, str]:
        """Return the environment of this child process: its parent's, with `changes` (new values by name).

        It leaves out the secrets that this child does not need. The child ends when this process dies.
        """
        withheld = SECRETS - self.secrets
        full = build_child_environment({**changes, "R4P_END_WITH_PARENT": str(os.getpid())})
        return {name: value for name, value in full.items() if name not in withheld}


def list_processes(host: str, port: int) -> tuple[Process, ...]:
    """Return the processes that every bot has. The web process listens on `host` and `port`.

    Untrusted text, tools and secrets stay in separate processes.
    """
    return (
        Process(
            "web",
            ("serve", "--host", host, "--port", str(port)),
            frozenset({"R4P_WEBHOOK_SECRET", "R4P_OAUTH_CLIENT_SECRET"}),
        ),
        Process(
            "github",
            ("worker", "--queues", "events,github"),
            frozenset({"R4P_PRIVATE_KEY", "R4P_PRIVATE_KEY_PATH"}),
        ),
        Process(
            "verify",
            ("worker", "--queues", "verify", "--concurrency", "1"),
            frozenset({"R4P_ENGINE_API_KEY"}),
        ),
        Process(
            "agents",
            ("worker", "--queues", "agents", "--concurrency", "1"),
            frozenset({"R4P_ENGINE_API_KEY"}),
        ),
        Process("beat", ("beat",)),
    )


WRITER = Process("writer", ("worker", "--queues", "writer", "--concurrency", "1"), _WRITER_KEY)
"""Opens draft pull requests. It runs only if the operator has configured a writer App."""

FIT = Process("fit", ("calibrate",))
"""Fits every judge's calibrator once and ends. It reads numbers only, so it needs no secret."""

TRAINER = Process(
    "train",
    ("worker", "--queues", "train", "--concurrency", "2"),
    frozenset({"R4P_ENGINE_API_KEY"}),
)
"""Trains models, one at a time, and meanwhile changes which model judges. It runs only if the operator has set a plan."""

TESTER = Process("tests", ("worker", "--queues", "tests", "--concurrency", "1"))
"""Runs the tests of repositories, without any secret. It runs only if the operator has named a folder of environments."""


def strip_settings() -> dict[str, str]:
    """Return this process's environment variables without the settings (`R4P_…`), because some of them are secrets."""
    return {
        name: value
        for name, value in build_child_environment({}).items()
        if not name.startswith("R4P_")
    }


def remote_environment() -> dict[str, str]:
    """Return the settings (`R4P_…`) in this process's environment that another machine may get.

    They hold no secret, and no address of the database or the broker.
    """
    withheld = SECRETS | _STORES
    return {
        name: value
        for name, value in build_child_environment({}).items()
        if name.startswith("R4P_") and name not in withheld
    }


_NEEDED: Mapping[str, tuple[type[Settings], ...]] = {
    Queue.GITHUB.value: (GitHubSettings, SuiteSettings),
    Queue.WRITER.value: (WriterSettings,),
    Queue.VERIFY.value: (EngineSettings,),
    Queue.AGENTS.value: (EngineSettings, AgentSettings),
    Queue.TRAIN.value: (TrainSettings,),
    Queue.TESTS.value: (SuiteSettings,),
}
"""Settings that jobs of each queue need."""
_STORE_KINDS = (DatabaseSettings, BrokerSettings)
_PACE_KINDS = (
    QueueSettings,
    CeilingSettings,
    RetentionSettings,
    LogSettings,
    IdentitySettings,
    ChildSettings,
)


def exec_web(host: str, port: int) -> None:
    """Replace this process by the web process. A new program holds no memory of the other commands of `r4p`."""
    end_with_parent()
    require_extras("serve", "server")
    _exec_module("app.web", host, str(port))


def exec_worker(queues: str, concurrency: int | None) -> None:
    """Replace this process by a Celery worker on `queues`, names of queues separated by commas.

    `concurrency` is the number of its child processes; None: as in the settings. Raises SettingsError at once with
    every mistake in the queues' settings, and not only at the first job.
    """
    end_with_parent()
    names = queues.split(",")
    if strange := [name for name in names if name not in set(Queue)]:
        refuse([f"--queues: there is no queue {strange[0]!r}; the queues are {', '.join(Queue)}"])
    check_queues(names, _STORE_KINDS)
    children = concurrency or load(QueueSettings).concurrency
    name = f"r4p-{queues.replace(',', '-')}-{os.getpid()}@%h"
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    _exec_celery("worker", "-Q", queues, "-c", str(children), "-n", name, *quiet)


def check_queues(names: Sequence[str], beside: Sequence[type[Settings]] = ()) -> None:
    """Raise SettingsError with every mistake in the settings that workers of the queues `names` need.

    `beside` holds further settings classes to check.
    """
    if lines := list_queue_mistakes(names, beside):
        refuse(lines)


def list_queue_mistakes(names: Sequence[str], beside: Sequence[type[Settings]] = ()) -> list[str]:
    """Return what `check_queues` would refuse, one line each; empty: nothing."""
    own = [kind for name in names for kind in _NEEDED.get(name, ())]
    further: list[str] = []
    if Queue.VERIFY in names and not find_mistakes(EngineSettings):
        further += _list_verifier_mistakes(EngineSettings())
    if Queue.AGENTS in names and not find_mistakes(AgentSettings):
        further += _list_agent_mistakes(AgentSettings())
    if Queue.TESTS in names and not find_mistakes(SuiteSettings):
        further += SuiteSettings().list_mistakes()
    return list_mistakes(*beside, *_PACE_KINDS, *own, further=further)


def _list_verifier_mistakes(settings: EngineSettings) -> list[str]:
    voting = VotingChoice(settings.stop_early, settings.min_lines, settings.leave_one_out)
    try:
        # a verifier without a language model never reads the setting
        prompt = settings.prompt if catalog.needs_engine(settings.verifier) else None
        catalog.check_choice(settings.verifier, voting, prompt)
    except UnknownVerifier as error:
        return [f"R4P_VERIFIER: {error}"]
    except IncompatibleOptions as error:
        return [f"R4P_LEAVE_ONE_OUT: {error}"]
    except TemplateError as error:
        return [f"R4P_PROMPT: {error}"]
    return []


def _list_agent_mistakes(settings: AgentSettings) -> list[str]:
    try:
        agents.require_agent(settings.agent, settings.repair_prompt)
    except UnknownAgent as error:
        return [f"R4P_AGENT: {error}"]
    except (IncompatibleOptions, TemplateError) as error:
        return [f"R4P_REPAIR_PROMPT: {error}".replace("--repair-prompt", "it")]
    return []


def exec_fit() -> None:
    """Replace this process by one that fits every judge's calibrator once and prints the result as JSON."""
    end_with_parent()
    load(DatabaseSettings)
    require_extras("calibrate", "calibrate")
    _exec_module("training.calibrators.refit")


def exec_training(arguments: Sequence[str], *, command_name: str | None = None) -> None:
    """Replace this process by `python -m training` with `arguments`.

    Training is a program of its own, because the bot's packages do not hold its dependencies. `command_name` is the
    command as the help shows it, such as `r4p models outcomes`; None: `r4p train` with the arguments.
    """
    end_with_parent()
    shown = ["--called", command_name] if command_name else []
    several = shlex.split(load(RunSettings).train_with) if arguments[:1] == ["run"] else []
    if several:
        beside = {
            "PATH": f"{Path(get_interpreter()).parent}:{build_child_environment({}).get('PATH', os.defpath)}",
            "PYTHONSAFEPATH": "1",  # like `-P`, for interpreters that the launcher starts
        }
        command = [*several, "-m", "training", *shown, *arguments]
        os.execvpe(command[0], command, build_child_environment(beside))  # noqa: S606 (no shell is what we want)
    _exec_module("training", *shown, *arguments)


def exec_beat() -> None:
    """Replace this process by Celery beat. Its schedule is code, so it stores nothing on disk."""
    end_with_parent()
    check_queues((), (BrokerSettings,))
    options = ("--schedule", os.devnull, "--scheduler", "celery.beat:Scheduler")
    _exec_celery("beat", *options)


def _exec_module(module: str, *arguments: str) -> None:
    os.execv(get_interpreter(), module_command(module, *arguments))  # noqa: S606 (no shell is what we want)


def _exec_celery(*arguments: str) -> None:
    """Replace this process by Celery. With JSON logs, discard its plain text on standard output."""
    if load(LogSettings).log_format == "json":
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _exec_module("worker.celery_command", *arguments)
