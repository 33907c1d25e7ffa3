"""A scheduler's own command line, asked for one thing at a time."""

import subprocess
from dataclasses import dataclass
from typing import Final

from app.processes import without_settings
from worker.launchers.task import LaunchFailed

_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    complaint: str


def ask(*command: str, given: str = "") -> Answer:
    """Run a command of a scheduler with `given` on its input; it sees none of our settings, and may pass on what it sees.

    Raises LaunchFailed when there is none, or no answer.
    """
    try:
        done = subprocess.run(
            command,
            env=without_settings(),
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise LaunchFailed(
            f"`{command[0]}` is not on PATH: install the scheduler's client on the machine of the train worker, or set"
            " R4P_TRAIN_LAUNCHER to another one"
        ) from None
    except subprocess.TimeoutExpired:
        raise LaunchFailed(
            f"`{' '.join(command[:3])}` did not answer within {_SECONDS:.0f} s"
        ) from None
    return Answer(done.returncode, done.stdout.strip(), done.stderr.strip())


def demand(*command: str, given: str = "") -> str:
    """As `ask`, its output; raises LaunchFailed when it ends with an error."""
    answer = ask(*command, given=given)
    if answer.code:
        said = answer.complaint or answer.out
        raise LaunchFailed(f"`{' '.join(command[:3])}` ended with {answer.code}: {said[-500:]}")
    return answer.out
