"""The bot's processes: which there are, which settings each may see, and how each is started."""

import ctypes
import os
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.jobs.job import Queue
from app.settings import (
    AgentSettings,
    BrokerSettings,
    ChildSettings,
    DatabaseSettings,
    EngineSettings,
    GitHubSettings,
    IdentitySettings,
    LogSettings,
    QueueSettings,
    RunSettings,
    Settings,
    TrainSettings,
    WriterSettings,
    check,
    child_environment,
    load,
    mistakes,
    python,
    refuse,
)
from model import catalog
from model.agents import agent_catalog as agents
from model.catalog import VotingChoice
from model.commands.extras import require
from model.errors import BadChoice, UnknownAgent, UnknownVerifier
from model.interpreter import module_command

_WRITER_KEY = frozenset({"R4P_WRITER_PRIVATE_KEY", "R4P_WRITER_PRIVATE_KEY_PATH"})
SECRETS = _WRITER_KEY | {
    "R4P_WEBHOOK_SECRET",
    "R4P_PRIVATE_KEY",
    "R4P_PRIVATE_KEY_PATH",
    "R4P_ENGINE_API_KEY",
}


_STORES = frozenset({"R4P_DATABASE_URL", "R4P_REDIS_URL", "R4P_END_WITH_PARENT"})
"""Settings that are of use only beside the stores."""


@dataclass(frozen=True, slots=True)
class Process:
    """One child process: its arguments to `r4p`, and the secrets it is trusted with."""

    name: str
    arguments: tuple[str, ...]
    secrets: frozenset[str] = frozenset()

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that this process works on."""
        if self.arguments[0] != "worker":
            return ()
        return tuple(self.arguments[self.arguments.index("--queues") + 1].split(","))

    def command(self) -> list[str]:
        """What to execute."""
        return module_command("app.cli", *self.arguments)

    def environment(self, changes: dict[str, str]) -> dict[str, str]:
        """This process's environment with changes, less every secret the child has no use for."""
        withheld = SECRETS - self.secrets
        full = child_environment(changes)
        return {name: value for name, value in full.items() if name not in withheld}


def all_processes(host: str, port: int) -> tuple[Process, ...]:
    """The whole bot. Untrusted text, tools and secrets are kept apart by process."""
    return (
        Process(
            "web",
            ("serve", "--host", host, "--port", str(port)),
            frozenset({"R4P_WEBHOOK_SECRET"}),
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
"""Opens draft pull requests: only there where the operator gave a second App."""

FIT = Process("fit", ("calibrate",))
"""Fits every judge's calibrator once, then ends; reads numbers only, so it is told no secret."""

TRAINER = Process(
    "train",
    ("worker", "--queues", "train", "--concurrency", "1"),
    frozenset({"R4P_ENGINE_API_KEY"}),
)
"""Has models trained: only there where the operator named a plan."""

_PR_SET_PDEATHSIG = 1


def without_settings() -> dict[str, str]:
    """Where programs, models and GPUs are, as we know it, and nothing of our own settings: those hold our secrets."""
    return {
        name: value for name, value in child_environment({}).items() if not name.startswith("R4P_")
    }


def told_elsewhere() -> dict[str, str]:
    """Our settings as a machine elsewhere may know them: no secret, and no address of a store."""
    withheld = SECRETS | _STORES
    return {
        name: value
        for name, value in child_environment({}).items()
        if name.startswith("R4P_") and name not in withheld
    }


def end_with_parent() -> None:
    """Have the kernel end this process when its parent dies, if it was started to be such a child.

    It stays so across exec. Where the kernel isn't Linux's, a killed parent leaves its children.
    """
    if not load(ChildSettings).end_with_parent or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        sys.exit("r4p: the parent is gone already")


_NEEDED: Mapping[str, tuple[type[Settings], ...]] = {
    Queue.GITHUB.value: (GitHubSettings,),
    Queue.WRITER.value: (WriterSettings,),
    Queue.VERIFY.value: (EngineSettings,),
    Queue.AGENTS.value: (EngineSettings, AgentSettings),
    Queue.TRAIN.value: (TrainSettings,),
}
"""The settings without which a queue's jobs can't be done."""
_STORE_KINDS = (DatabaseSettings, BrokerSettings)
_PACE_KINDS = (QueueSettings, LogSettings, IdentitySettings)


def become_worker(queues: str, concurrency: int | None) -> None:
    """Replace this process by a Celery worker on the given queues.

    Raises SettingsError at once, rather than at the first job, with every mistake in the queues' settings.
    """
    end_with_parent()
    names = queues.split(",")
    if strange := [name for name in names if name not in set(Queue)]:
        refuse([f"--queues: no queue is called {strange[0]!r}; there are {', '.join(Queue)}"])
    check_queues(names, _STORE_KINDS)
    children = concurrency or load(QueueSettings).concurrency
    name = f"r4p-{queues.replace(',', '-')}-{os.getpid()}@%h"
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    _become_celery("worker", "-Q", queues, "-c", str(children), "-n", name, *quiet)


def check_queues(names: Sequence[str], beside: Sequence[type[Settings]] = ()) -> None:
    """Raises SettingsError with every mistake in what workers of these queues read, and in further settings."""
    own = [kind for name in names for kind in _NEEDED.get(name, ())]
    further: list[str] = []
    if Queue.VERIFY in names and not mistakes(EngineSettings):
        further += _verifier_mistakes(EngineSettings())
    if Queue.AGENTS in names and not mistakes(AgentSettings):
        further += _agent_mistakes(AgentSettings())
    check(*beside, *_PACE_KINDS, *own, further=further)


def _verifier_mistakes(settings: EngineSettings) -> list[str]:
    voting = VotingChoice(settings.stop_early, settings.min_lines, settings.leave_one_out)
    try:
        catalog.check(settings.verifier, voting)
    except UnknownVerifier as error:
        return [f"R4P_VERIFIER: {error}"]
    except BadChoice as error:
        return [f"R4P_LEAVE_ONE_OUT: {error}"]
    return []


def _agent_mistakes(settings: AgentSettings) -> list[str]:
    try:
        agents.require(settings.agent)
    except UnknownAgent as error:
        return [f"R4P_AGENT: {error}"]
    return []


def become_fit() -> None:
    """Replace this process by a fit of every judge's calibrator; what that found is printed as JSON."""
    end_with_parent()
    load(DatabaseSettings)
    require("calibrate", "calibrate")
    _become("training.calibrators.refit")


def become_training(arguments: Sequence[str], *, called: str | None = None) -> None:
    """Replace this process by `python -m training`: the bot's own packages do not know what it needs.

    `called` is the command before the sub-command, as its help shall show it.
    """
    end_with_parent()
    shown = ["--called", called] if called else []
    several = shlex.split(load(RunSettings).train_with) if arguments[:1] == ["run"] else []
    if several:
        beside = {
            "PATH": f"{Path(python()).parent}:{child_environment({}).get('PATH', os.defpath)}",
            "PYTHONSAFEPATH": "1",  # as `-P`, for interpreters that others start
        }
        command = [*several, "-m", "training", *shown, *arguments]
        os.execvpe(command[0], command, child_environment(beside))  # noqa: S606 (no shell is what we want)
    _become("training", *shown, *arguments)


def become_beat() -> None:
    """Replace this process by Celery beat; its schedule is code, so nothing is kept on disk."""
    end_with_parent()
    check_queues((), (BrokerSettings,))
    clock = ("--schedule", os.devnull, "--scheduler", "celery.beat:Scheduler")
    _become_celery("beat", *clock)


def _become(module: str, *arguments: str) -> None:
    os.execv(python(), module_command(module, *arguments))  # noqa: S606 (no shell is what we want)


def _become_celery(*arguments: str) -> None:
    """Our logs go to standard error. What Celery tells a person goes to standard output, as plain text."""
    if load(LogSettings).log_format == "json":
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _become("worker.celery_command", *arguments)
