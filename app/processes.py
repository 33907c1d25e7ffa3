"""The bot's processes: which there are, which settings each may see, and how each is started."""

import os
from dataclasses import dataclass

from app.settings import QueueSettings, child_environment, load, python

SECRETS = frozenset(
    {"R4P_WEBHOOK_SECRET", "R4P_PRIVATE_KEY", "R4P_PRIVATE_KEY_PATH", "R4P_ENGINE_API_KEY"}
)


@dataclass(frozen=True, slots=True)
class Process:
    """One child process: its arguments to `r4p`, and the secrets it is trusted with."""

    name: str
    arguments: tuple[str, ...]
    secrets: frozenset[str] = frozenset()

    def command(self) -> list[str]:
        """What to execute."""
        return [python(), "-m", "app.cli", *self.arguments]

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
        Process("beat", ("beat",)),
    )


def become_worker(queues: str, concurrency: int | None) -> None:
    """Replace this process by a Celery worker on the given queues."""
    children = concurrency or load(QueueSettings).concurrency
    _become_celery(
        "worker",
        *(
            "-Q",
            queues,
            "-c",
            str(children),
            "-n",
            f"r4p-{queues.replace(',', '-')}-{os.getpid()}@%h",
        ),
        *("--without-gossip", "--without-mingle", "--without-heartbeat"),
        *("--loglevel", "WARNING"),
    )


def become_beat() -> None:
    """Replace this process by Celery beat; its schedule is code, so nothing is kept on disk."""
    _become_celery(
        "beat",
        "--schedule",
        os.devnull,
        "--scheduler",
        "celery.beat:Scheduler",
        "--loglevel",
        "WARNING",
    )


def _become_celery(*arguments: str) -> None:
    os.execv(  # noqa: S606  # no shell is what we want
        python(), [python(), "-m", "celery", "-A", "worker.celery_app", *arguments]
    )
