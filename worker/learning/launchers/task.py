"""Define a launcher, the tasks that it runs (such as a training stage), and their states."""

import shlex
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

TAIL: Final = 6_000
"""Most characters of a log that are kept of a failure."""


_BY_SIGNAL: Final = 128
_SCRIPT: Final = """\
"$@" >>{log} 2>&1 & child=$!
trap 'kill "$child"' TERM
wait "$child"; code=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
echo "$code" >{end}.new && mv {end}.new {end}
exit "$code"
"""
"""Passes SIGTERM on and waits for the command. A rename writes the exit code's file in one step."""


class LaunchFailed(Exception):
    """A task could not be started or queried; the message holds the command, its output and the
    fix.
    """


class LaunchRefused(LaunchFailed):
    """A task that no retry can start: a missing client or wrong options."""


class Phase(StrEnum):
    """How far a launched task is."""

    UNKNOWN = "unknown"
    """Never started, or forgotten by the scheduler."""
    WAITING = "waiting"
    """Submitted, not started."""
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class TaskState:
    """The phase of a launched task, and how it failed."""

    phase: Phase
    why: str = ""
    """How it failed; empty otherwise."""


@dataclass(frozen=True, slots=True)
class LaunchTask:
    """An `r4p` command to run once on any machine, such as a training stage."""

    name: str
    """Letters, digits and hyphens; the same name is the same task."""
    arguments: tuple[str, ...]
    """Arguments of `r4p`."""
    folder: Path
    """Folder for the log, visible to the machine that runs the task."""
    environment: Mapping[str, str]
    """Settings that the command needs; no secret."""

    @property
    def log(self) -> Path:
        """Return the path of the file that gets the task's output."""
        return self.folder / f"{self.name}.log"

    @property
    def end(self) -> Path:
        """Return the path of the file to which the task writes its command's exit code.

        The file is needed because schedulers only tell success from failure.
        """
        return self.folder / f"{self.name}.code"

    def script(self) -> str:
        """Return the text of a shell script that runs its own arguments as the task's command.

        The script appends the command's output to the log, and writes its exit code to the file `end`.
        """
        return _SCRIPT.format(log=shlex.quote(str(self.log)), end=shlex.quote(str(self.end)))

    def read_exit_code(self) -> int | None:
        """Return the exit code of the task's command, read from its file.

        None means that the command has not ended by itself, or that the file is not visible on this machine yet.
        """
        try:
            return int(self.end.read_text())
        except (OSError, ValueError):
            return None

    def read_log_tail(self) -> str:
        """Return the end of the task's log, at most 6,000 characters; empty if there is no log."""
        try:
            return self.log.read_text(errors="replace")[-TAIL:].strip()
        except OSError:
            return ""


def apply_exit_code(seen: TaskState, code: int | None) -> TaskState:
    """Return an ended task's state, computed from `code`, the exit code that it left (pure).

    Return `seen`, the scheduler's state of the task, if it still waits or runs, or if `code` is None.
    """
    if code is None or seen.phase in {Phase.WAITING, Phase.RUNNING}:
        return seen
    return TaskState(Phase.ENDED, describe_exit_code(code))


def describe_exit_code(code: int) -> str:
    """Describe a task's exit code in words, such as `exit code 2`; empty for success.

    A code for a signal, such as -9 (Python) or 137 (shell), gives `killed by` and the signal's name.
    """
    if code == 0:
        return ""
    if code < 0 or code > _BY_SIGNAL:
        return f"killed by {_describe_signal(-code if code < 0 else code - _BY_SIGNAL)}"
    return f"exit code {code}"


def _describe_signal(number: int) -> str:
    names: Mapping[int, str] = {item.value: item.name for item in signal.Signals}
    hint = " (out of memory?)" if number == signal.SIGKILL else ""
    return names.get(number, f"signal {number}") + hint


class Launcher(Protocol):
    """Runs training tasks on this machine or on a cluster: SLURM, Kubernetes or Ray."""

    @property
    def outlives_worker(self) -> bool:
        """Return whether a task continues after this worker ends; the next worker then finds it by its name."""

    def start(self, task: LaunchTask) -> None:
        """Start a task without waiting for its end; do nothing if it was started before. Raises LaunchFailed."""

    def look(self, task: LaunchTask) -> TaskState:
        """Return the task's phase, and how it failed. Raises LaunchFailed if the scheduler does not answer."""

    def stop(self, task: LaunchTask) -> None:
        """Stop a task if it runs. Raises LaunchFailed."""
