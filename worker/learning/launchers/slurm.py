"""Run tasks as SLURM batch jobs, found again by their names.

The nodes share the folder's file system.
"""

import shlex
from dataclasses import dataclass
from typing import ClassVar, Final

from model.interpreter import module_command
from worker.learning.launchers.scheduler_call import (
    build_launch_error,
    run_command,
    run_command_or_raise,
)
from worker.learning.launchers.task import LaunchTask, Phase, TaskState

_WAITING: Final = frozenset(
    {
        *("PENDING", "CONFIGURING", "SUSPENDED", "REQUEUED"),
        *("REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD"),
    }
)
_RUNNING: Final = frozenset(
    {"RUNNING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"}
)


@dataclass(frozen=True, slots=True)
class Slurm:
    """Runs each task as a SLURM job with GPUs of one node; the operator chooses time, partition and account."""

    gpus: int
    options: str = ""
    program: tuple[str, ...] = tuple(module_command("app.cli"))
    """The command that gets a task's arguments, on the shared file system."""
    outlives_worker: ClassVar[bool] = True

    def start(self, task: LaunchTask) -> None:
        """Submit the task to SLURM, unless SLURM knows a job of that name. Raises LaunchFailed."""
        if self.look(task).phase is Phase.UNKNOWN:
            run_command_or_raise(*self.command(task), given=self.script(task))

    def command(self, task: LaunchTask) -> list[str]:
        """Build the words of the `sbatch` command that submits the task; `sbatch` reads the script from its input."""
        gpus = [f"--gres=gpu:{self.gpus}"] if self.gpus else []
        return [
            "sbatch",
            "--parsable",
            f"--job-name={task.name}",
            f"--output={task.log}",
            "--open-mode=append",
            "--no-requeue",
            "--nodes=1",
            # The script holds the settings. By default sbatch sends this process's whole environment.
            "--export=NONE",
            *gpus,
            *shlex.split(self.options),
        ]

    def script(self, task: LaunchTask) -> str:
        """Build the text of the task's batch script, which exports the settings and then runs the command."""
        environment = sorted(task.environment.items())
        settings = [f"export {name}={shlex.quote(value)}" for name, value in environment]
        command = shlex.join([*self.program, *task.arguments])
        return "\n".join(["#!/bin/sh", *settings, f"set -- {command}", task.script()])

    def look(self, task: LaunchTask) -> TaskState:
        """Return the task's state from SLURM's controller, or from its accounting once the controller forgot the job.

        Raises LaunchFailed if neither knows the state. The phase "unknown" would be wrong then: the worker would start
        the task again, and two jobs would write to one folder.
        """
        asked = run_command(
            "squeue", "--noheader", "--states=all", f"--name={task.name}", "--format=%T %i"
        )
        lines = [line.split() for line in asked.out.splitlines() if line.strip()]
        if lines and not asked.code:
            return read_state(max(lines, key=lambda words: int(words[1]))[0])
        remembered = self._read_accounting(task)
        if asked.code and remembered.phase is Phase.UNKNOWN:
            raise build_launch_error("squeue", asked)
        return remembered

    def stop(self, task: LaunchTask) -> None:
        """Cancel the task's SLURM job. Raises LaunchFailed."""
        run_command_or_raise("scancel", f"--name={task.name}")

    def _read_accounting(self, task: LaunchTask) -> TaskState:
        """Return the state by SLURM's accounting, if there is one."""
        asked = run_command(
            "sacct",
            "--noheader",
            "--parsable2",
            "--allocations",
            f"--name={task.name}",
            "--format=State",
        )
        states = asked.out.splitlines()
        if asked.code or not states:
            return TaskState(Phase.UNKNOWN)
        return read_state(states[-1])


def read_state(state: str) -> TaskState:
    """Convert a job state of SLURM, such as `TIMEOUT` or `CANCELLED by 1000`, to the task's phase and failure."""
    word = state.split(maxsplit=1)[0] if state else ""
    if word in _WAITING:
        return TaskState(Phase.WAITING)
    if word in _RUNNING:
        return TaskState(Phase.RUNNING)
    return TaskState(Phase.ENDED, "" if word == "COMPLETED" else f"SLURM says {word}")
