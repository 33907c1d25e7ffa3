"""Run one command of a scheduler's client, such as kubectl or ray."""

import re
import subprocess
from dataclasses import dataclass
from typing import Final

from app.operator.processes import strip_settings
from worker.learning.launchers.task import LaunchFailed, LaunchRefused

_SECONDS: Final = 60.0
_NEVER: Final = re.compile(
    r"\binvalid\b(?! (?:auth|job cred))|unrecogni[sz]ed option|(?:unknown|no such) (?:shorthand )?(?:flag|option)"
    r"|namespaces \S+ not found",
    re.IGNORECASE,
)
"""Matches errors that no retry can fix, such as wrong options. An invalid credential may be valid
once a daemon is back."""


@dataclass(frozen=True, slots=True)
class SchedulerResponse:
    """The exit code, standard output and standard error (`complaint`) of a scheduler's command."""

    code: int
    out: str
    complaint: str


def run_command(*command: str, given: str = "") -> SchedulerResponse:
    """Run a command of a scheduler's client, such as kubectl, and return its exit code and output.

    `given` is its standard input. The command sees none of the bot's settings, because a scheduler may pass its
    environment on. Raises LaunchRefused when the client is not installed, and LaunchFailed without an answer in time.
    """
    try:
        done = subprocess.run(
            command,
            env=strip_settings(),
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise LaunchRefused(
            f"`{command[0]}` is not on PATH: install the scheduler's client on the machine of the train worker, or set"
            " R4P_TRAIN_LAUNCHER to another one"
        ) from None
    except subprocess.TimeoutExpired:
        raise LaunchFailed(
            f"`{' '.join(command[:3])}` did not answer within {_SECONDS:.0f} s"
        ) from None
    return SchedulerResponse(done.returncode, done.stdout.strip(), done.stderr.strip())


def run_command_or_raise(*command: str, given: str = "") -> str:
    """Run a command of a scheduler's client and return its standard output; `given` is its standard input.

    Raises LaunchFailed if the command fails, and its subclass LaunchRefused if no retry can help.
    """
    answer = run_command(*command, given=given)
    if answer.code:
        raise build_launch_error(" ".join(command[:3]), answer)
    return answer.out


def build_launch_error(command: str, answer: SchedulerResponse) -> LaunchFailed:
    """Build the error for a scheduler's command that failed, from the command's own output (pure).

    It is a LaunchRefused if no retry can help, else a LaunchFailed. `command` is the name that the message shows.
    """
    output = (answer.complaint or answer.out)[-500:]
    kind = LaunchRefused if _NEVER.search(output) else LaunchFailed
    return kind(f"`{command}` ended with {answer.code}: {output}")
