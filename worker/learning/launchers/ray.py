"""Run tasks as jobs of a Ray cluster with `ray job`. The nodes share the folder's file system."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from worker.learning.launchers.scheduler_call import (
    SchedulerResponse,
    build_launch_error,
    run_command,
    run_command_or_raise,
)
from worker.learning.launchers.task import LaunchFailed, LaunchTask, Phase, TaskState

_SAID: Final = re.compile(
    r"^(?:Job '[^']*' (?:was )?|Status for job '[^']*': (?:JobStatus\.)?)(\w+)\s*$", re.MULTILINE
)
"""Matches the line of `ray job status` that names the state; later lines may quote the job's own
log."""
_PHASES: Final = {
    "pending": TaskState(Phase.WAITING),
    "running": TaskState(Phase.RUNNING),
    "succeeded": TaskState(Phase.ENDED),
    "failed": TaskState(Phase.ENDED, "Ray says that it failed"),
    "stopped": TaskState(Phase.ENDED, "Ray says that it was stopped"),
}


@dataclass(frozen=True, slots=True)
class Ray:
    """Runs each task as a job of a Ray cluster, whose entrypoint gets GPUs of one node."""

    address: str
    gpus: int
    options: str = ""
    outlives_worker: ClassVar[bool] = True

    def start(self, task: LaunchTask) -> None:
        """Submit the task to the Ray cluster, unless the cluster has a job of that name.

        Raises LaunchFailed.
        """
        inner = f"set -- r4p {shlex.join(task.arguments)}\n{task.script()}"
        try:
            _get_script_path(task).write_text(inner)
        except OSError as error:
            raise LaunchFailed(
                f"{_get_script_path(task)} can't be written: {error.strerror}"
            ) from error
        answer = run_command(*self.command(task))
        output = answer.complaint + answer.out
        if answer.code and "already exists" not in output:
            raise build_launch_error("ray job submit", SchedulerResponse(answer.code, "", output))

    def command(self, task: LaunchTask) -> list[str]:
        """Build the words of the `ray job submit` command that submits the task; run nothing."""
        settings = json.dumps({"env_vars": dict(sorted(task.environment.items()))})
        gpus = [f"--entrypoint-num-gpus={self.gpus}"] if self.gpus else []
        return [
            *("ray", "job", "submit", f"--address={self.address}"),
            *(f"--submission-id={task.name}", f"--runtime-env-json={settings}", "--no-wait"),
            *gpus,
            *shlex.split(self.options),
            # Use a file: Ray joins the entrypoint's words, so a shell would expand quoted text.
            *("--", "sh", str(_get_script_path(task))),
        ]

    def look(self, task: LaunchTask) -> TaskState:
        """Ask the Ray cluster for the state of the task's job; unknown if it has no such job.

        Raises LaunchFailed if the command fails or its output cannot be read.
        """
        asked = run_command("ray", "job", "status", f"--address={self.address}", task.name)
        output = asked.complaint + asked.out
        if asked.code and "does not exist" in output:
            return TaskState(Phase.UNKNOWN)
        if asked.code:
            raise build_launch_error("ray job status", SchedulerResponse(asked.code, "", output))
        state = read_state(output)
        if state.phase is Phase.UNKNOWN:
            raise LaunchFailed(f"unexpected output of `ray job status`: {output[-500:]}")
        return state

    def stop(self, task: LaunchTask) -> None:
        """Stop the task's job in the Ray cluster. Raises LaunchFailed."""
        run_command_or_raise("ray", "job", "stop", f"--address={self.address}", task.name)


def _get_script_path(task: LaunchTask) -> Path:
    return task.folder / f"{task.name}.sh"


def read_state(output: str) -> TaskState:
    """Convert the output of `ray job status` to the task's phase and failure; unknown if no line names one."""
    match = _SAID.search(output)
    return (
        _PHASES.get(match[1].lower(), TaskState(Phase.UNKNOWN))
        if match
        else TaskState(Phase.UNKNOWN)
    )
