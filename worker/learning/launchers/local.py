"""Tasks as child processes, which end with this worker."""

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar, Final

from app.operator.processes import without_settings
from model.interpreter import module_command
from worker.learning.launchers.task import LaunchFailed, Phase, Seen, Task, ended_with

_END_SECONDS: Final = 20.0
"""A trainer that is told to end has this long to; what it had saved is safe either way."""


@dataclass(slots=True)
class Local:
    """Runs tasks on this machine, one process group each."""

    program: tuple[str, ...] = tuple(module_command("app.cli"))
    """What the arguments are for."""
    outlives_us: ClassVar[bool] = False
    _children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, init=False)

    def start(self, task: Task) -> None:
        """Start a child that the kernel ends when this worker dies."""
        try:
            with task.log.open("ab") as log:
                self._children[task.name] = subprocess.Popen(
                    [*self.program, *task.arguments],
                    env=_environment(task),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            raise LaunchFailed(f"{task.name} could not be started here: {error}") from error

    def look(self, task: Task) -> Seen:
        """Whether the child still runs."""
        child = self._children.get(task.name)
        if child is None:
            return Seen(Phase.UNKNOWN)
        code = child.poll()
        if code is None:
            return Seen(Phase.RUNNING)
        return Seen(Phase.ENDED, ended_with(code))

    def stop(self, task: Task) -> None:
        """End the child and all that it started."""
        child = self._children.pop(task.name, None)
        if child is None or child.poll() is not None:
            return
        _signal(child, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(_END_SECONDS)
        _signal(child, signal.SIGKILL)
        child.wait()


def _environment(task: Task) -> dict[str, str]:
    """Where programs, models and GPUs are, as we know it; of our own settings, what the task is told."""
    return {**without_settings(), **task.environment, "R4P_END_WITH_PARENT": "true"}


def _signal(child: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    """To its whole group, as far as anything of that is left."""
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return
