"""Tasks as SLURM batch jobs. Their name is how they are found again; the folder is on a shared file system."""

import shlex
from dataclasses import dataclass
from typing import ClassVar, Final

from model.interpreter import module_command
from worker.learning.launchers.scheduler_call import ask, demand, failed
from worker.learning.launchers.task import Phase, Seen, Task

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
    """Asks for GPUs of one node; how long, which partition and account, the operator's options say."""

    gpus: int
    options: str = ""
    program: tuple[str, ...] = tuple(module_command("app.cli"))
    """What the arguments are for, on the shared file system."""
    outlives_us: ClassVar[bool] = True

    def start(self, task: Task) -> None:
        """Submit, unless a job of that name waits or runs. Raises LaunchFailed."""
        if self.look(task).phase is Phase.UNKNOWN:
            demand(*self.command(task), given=self.script(task))

    def command(self, task: Task) -> list[str]:
        """What submits it; the script comes on the input."""
        gpus = [f"--gres=gpu:{self.gpus}"] if self.gpus else []
        return [
            "sbatch",
            "--parsable",
            f"--job-name={task.name}",
            f"--output={task.log}",
            "--open-mode=append",
            "--no-requeue",
            "--nodes=1",
            # what it is told stands in the script; sbatch's default sends all that this process knows
            "--export=NONE",
            *gpus,
            *shlex.split(self.options),
        ]

    def script(self, task: Task) -> str:
        """The batch script: our settings, then our command."""
        told = sorted(task.environment.items())
        settings = [f"export {name}={shlex.quote(value)}" for name, value in told]
        command = shlex.join([*self.program, *task.arguments])
        return "\n".join(["#!/bin/sh", *settings, f"set -- {command}", task.script()])

    def look(self, task: Task) -> Seen:
        """As SLURM's controller knows it, which forgets jobs minutes after their end. Raises LaunchFailed.

        Unknown is a job only to a controller that answered: to start it again beside itself would be two on one folder.
        """
        asked = ask("squeue", "--noheader", "--states=all", f"--name={task.name}", "--format=%T %i")
        lines = [line.split() for line in asked.out.splitlines() if line.strip()]
        if lines and not asked.code:
            return seen(max(lines, key=lambda words: int(words[1]))[0])
        remembered = self._remembered(task)
        if asked.code and remembered.phase is Phase.UNKNOWN:
            raise failed("squeue", asked)
        return remembered

    def stop(self, task: Task) -> None:
        """Cancel it. Raises LaunchFailed."""
        demand("scancel", f"--name={task.name}")

    def _remembered(self, task: Task) -> Seen:
        """As the accounting knows it, where there is one."""
        asked = ask(
            "sacct",
            "--noheader",
            "--parsable2",
            "--allocations",
            f"--name={task.name}",
            "--format=State",
        )
        states = asked.out.splitlines()
        if asked.code or not states:
            return Seen(Phase.UNKNOWN)
        return seen(states[-1])


def seen(state: str) -> Seen:
    """What a state of SLURM's means, such as `TIMEOUT` or `CANCELLED by 1000`."""
    word = state.split(maxsplit=1)[0] if state else ""
    if word in _WAITING:
        return Seen(Phase.WAITING)
    if word in _RUNNING:
        return Seen(Phase.RUNNING)
    return Seen(Phase.ENDED, "" if word == "COMPLETED" else f"SLURM says {word}")
