"""What is launched, and what a launcher answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

TAIL: Final = 1_500
"""Characters of a log that are kept of a failure."""


class LaunchFailed(Exception):
    """The task could not be handed over; names the command, what it said, and the fix."""


class Phase(StrEnum):
    """Where a task is."""

    UNKNOWN = "unknown"
    """Never started, or so long over that nobody remembers."""
    WAITING = "waiting"
    """Handed over, not begun."""
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Seen:
    """A task as it is now."""

    phase: Phase
    why: str = ""
    """How it ended, when that was not well."""


@dataclass(frozen=True, slots=True)
class Task:
    """A command to be run once, wherever."""

    name: str
    """Of letters, digits and hyphens; the same name is the same task."""
    arguments: tuple[str, ...]
    """To `r4p`."""
    folder: Path
    """Where its log is written; seen by whoever runs it."""
    environment: Mapping[str, str]
    """Settings of ours that the command needs; holds no secret."""

    @property
    def log(self) -> Path:
        """What it says."""
        return self.folder / f"{self.name}.log"

    def said(self) -> str:
        """The end of its log."""
        try:
            return self.log.read_text(errors="replace")[-TAIL:].strip()
        except OSError:
            return ""


class Launcher(Protocol):
    """Runs tasks."""

    @property
    def outlives_us(self) -> bool:
        """Whether a task goes on when this worker ends, to be found again by its name."""

    def start(self, task: Task) -> None:
        """Hand a task over; one that is known already is left as it is. Raises LaunchFailed."""

    def look(self, task: Task) -> Seen:
        """Where the task is now. Raises LaunchFailed."""

    def stop(self, task: Task) -> None:
        """Have it end; nothing happens where it has ended. Raises LaunchFailed."""
