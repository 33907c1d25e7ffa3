"""Tasks as jobs of a Ray cluster, by `ray job`. The folder is on a file system that its nodes share with us."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from worker.learning.launchers.scheduler_call import Answer, ask, demand, failed
from worker.learning.launchers.task import LaunchFailed, Phase, Seen, Task

_SAID: Final = re.compile(
    r"^(?:Job '[^']*' (?:was )?|Status for job '[^']*': (?:JobStatus\.)?)(\w+)\s*$", re.MULTILINE
)
"""The line of `ray job status` that tells the state; what follows it may quote the job's own log."""
_PHASES: Final = {
    "pending": Seen(Phase.WAITING),
    "running": Seen(Phase.RUNNING),
    "succeeded": Seen(Phase.ENDED),
    "failed": Seen(Phase.ENDED, "Ray says that it failed"),
    "stopped": Seen(Phase.ENDED, "Ray says that it was stopped"),
}


@dataclass(frozen=True, slots=True)
class Ray:
    """Asks for GPUs of one node for the job's entrypoint."""

    address: str
    gpus: int
    options: str = ""
    outlives_us: ClassVar[bool] = True

    def start(self, task: Task) -> None:
        """Submit under the task's name, which Ray takes once. Raises LaunchFailed."""
        inner = f"set -- r4p {shlex.join(task.arguments)}\n{task.script()}"
        try:
            _script(task).write_text(inner)
        except OSError as error:
            raise LaunchFailed(f"{_script(task)} can't be written: {error.strerror}") from error
        answer = ask(*self.command(task))
        said = answer.complaint + answer.out
        if answer.code and "already exists" not in said:
            raise failed("ray job submit", Answer(answer.code, "", said))

    def command(self, task: Task) -> list[str]:
        """What submits it."""
        settings = json.dumps({"env_vars": dict(sorted(task.environment.items()))})
        gpus = [f"--entrypoint-num-gpus={self.gpus}"] if self.gpus else []
        return [
            *("ray", "job", "submit", f"--address={self.address}"),
            *(f"--submission-id={task.name}", f"--runtime-env-json={settings}", "--no-wait"),
            *gpus,
            *shlex.split(self.options),
            # by a file: Ray joins an entrypoint so that a shell would expand what is quoted
            *("--", "sh", str(_script(task))),
        ]

    def look(self, task: Task) -> Seen:
        """As the cluster says. Raises LaunchFailed."""
        asked = ask("ray", "job", "status", f"--address={self.address}", task.name)
        said = asked.complaint + asked.out
        if asked.code and "does not exist" in said:
            return Seen(Phase.UNKNOWN)
        if asked.code:
            raise failed("ray job status", Answer(asked.code, "", said))
        found = seen(said)
        if found.phase is Phase.UNKNOWN:
            raise LaunchFailed(f"`ray job status` said what is not understood: {said[-500:]}")
        return found

    def stop(self, task: Task) -> None:
        """End it. Raises LaunchFailed."""
        demand("ray", "job", "stop", f"--address={self.address}", task.name)


def _script(task: Task) -> Path:
    return task.folder / f"{task.name}.sh"


def seen(said: str) -> Seen:
    """What Ray's words about a job mean."""
    found = _SAID.search(said)
    return _PHASES.get(found[1].lower(), Seen(Phase.UNKNOWN)) if found else Seen(Phase.UNKNOWN)
