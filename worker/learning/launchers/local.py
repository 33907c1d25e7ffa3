"""Run tasks as child processes, which end with this worker."""

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar, Final

from app.operator.processes import strip_settings
from model.interpreter import module_command
from worker.learning.launchers.task import (
    LaunchFailed,
    LaunchTask,
    Phase,
    TaskState,
    describe_exit_code,
)

_END_SECONDS: Final = 20.0
"""Time for a trainer to stop after SIGTERM; its saved state is safe in any case."""


@dataclass(slots=True)
class Local:
    """Runs each task on this machine in a process group of its own."""

    program: tuple[str, ...] = tuple(module_command("app.cli"))
    """The command that gets a task's arguments."""
    outlives_worker: ClassVar[bool] = False
    _children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, init=False)

    def start(self, task: LaunchTask) -> None:
        """Start the task as a child process, which the kernel ends when this worker dies.

        Raises LaunchFailed.
        """
        try:
            with task.log.open("ab") as log:
                self._children[task.name] = subprocess.Popen(
                    [*self.program, *task.arguments],
                    env=_build_environment(task),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            raise LaunchFailed(f"{task.name} could not be started here: {error}") from error

    def look(self, task: LaunchTask) -> TaskState:
        """Return the state of the task's child process: running or ended; unknown if this worker did not start it."""
        child = self._children.get(task.name)
        if child is None:
            return TaskState(Phase.UNKNOWN)
        code = child.poll()
        if code is None:
            return TaskState(Phase.RUNNING)
        return TaskState(Phase.ENDED, describe_exit_code(code))

    def stop(self, task: LaunchTask) -> None:
        """End the task's child process and its process group: SIGTERM, then SIGKILL after 20 s."""
        child = self._children.pop(task.name, None)
        if child is None or child.poll() is not None:
            return
        _send_signal(child, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(_END_SECONDS)
        _send_signal(child, signal.SIGKILL)
        child.wait()


def _build_environment(task: LaunchTask) -> dict[str, str]:
    """Keep this process's paths and devices, but replace the bot's settings by the task's."""
    parent = {"R4P_END_WITH_PARENT": str(os.getpid())}
    return {**strip_settings(), **task.environment, **parent}


def _send_signal(child: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    """Send a signal to the whole process group, if it exists."""
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return
