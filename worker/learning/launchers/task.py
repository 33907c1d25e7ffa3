"""What is launched, and what a launcher answers."""

import shlex
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

TAIL: Final = 6_000
"""Characters of a log that are kept of a failure."""


_BY_SIGNAL: Final = 128
_SCRIPT: Final = """\
"$@" >>{log} 2>&1 & child=$!
trap 'kill "$child"' TERM
wait "$child"; code=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
echo "$code" >{end}.new && mv {end}.new {end}
exit "$code"
"""
"""Hands a request to end on, and waits until it is heard. The code is in a file that is whole or not there."""


class LaunchFailed(Exception):
    """The task could not be handed over, or not be asked about; names the command, what it said, and the fix."""


class NeverTaken(LaunchFailed):
    """Nobody will take it however often it is handed over: a command that is not there, options that are wrong."""


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

    @property
    def end(self) -> Path:
        """Where a shell on another machine writes the exit code: schedulers tell success from failure, and no more."""
        return self.folder / f"{self.name}.code"

    def script(self) -> str:
        """What a shell does with the command in its arguments: its words go to the log, its exit code to `end`."""
        return _SCRIPT.format(log=shlex.quote(str(self.log)), end=shlex.quote(str(self.end)))

    def code(self) -> int | None:
        """The exit code of a task elsewhere, as a shell counts; None: it has not ended by itself, or isn't seen yet."""
        try:
            return int(self.end.read_text())
        except (OSError, ValueError):
            return None

    def said(self) -> str:
        """The end of its log."""
        try:
            return self.log.read_text(errors="replace")[-TAIL:].strip()
        except OSError:
            return ""


def as_ended(seen: Seen, code: int | None) -> Seen:
    """What is known of a task, once the exit code that it left is (pure)."""
    if code is None or seen.phase in {Phase.WAITING, Phase.RUNNING}:
        return seen
    return Seen(Phase.ENDED, ended_with(code))


def ended_with(code: int) -> str:
    """An exit code in words; signals as Python counts them (-9), or as a shell does (137). Empty: it ended well."""
    if code == 0:
        return ""
    if code < 0 or code > _BY_SIGNAL:
        return f"killed by {_name_of(-code if code < 0 else code - _BY_SIGNAL)}"
    return f"exit code {code}"


def _name_of(number: int) -> str:
    names: Mapping[int, str] = {one.value: one.name for one in signal.Signals}
    more = " (out of memory?)" if number == signal.SIGKILL else ""
    return names.get(number, f"signal {number}") + more


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
