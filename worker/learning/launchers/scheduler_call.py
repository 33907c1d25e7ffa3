"""A scheduler's own command line, asked for one thing at a time."""

import re
import subprocess
from dataclasses import dataclass
from typing import Final

from app.operator.processes import without_settings
from worker.learning.launchers.task import LaunchFailed, NeverTaken

_SECONDS: Final = 60.0
_NEVER: Final = re.compile(
    r"\binvalid\b(?! (?:auth|job cred))|unrecogni[sz]ed option|(?:unknown|no such) (?:shorthand )?(?:flag|option)"
    r"|namespaces \S+ not found",
    re.IGNORECASE,
)
"""What schedulers say of options that they will never take; a credential that is invalid may be so until a daemon is back."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    complaint: str


def ask(*command: str, given: str = "") -> Answer:
    """Run a command of a scheduler with `given` on its input; it sees none of our settings, and may pass on what it sees.

    Raises NeverTaken when there is none, LaunchFailed when there is no answer.
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
        raise NeverTaken(
            f"`{command[0]}` is not on PATH: install the scheduler's client on the machine of the train worker, or set"
            " R4P_TRAIN_LAUNCHER to another one"
        ) from None
    except subprocess.TimeoutExpired:
        raise LaunchFailed(
            f"`{' '.join(command[:3])}` did not answer within {_SECONDS:.0f} s"
        ) from None
    return Answer(done.returncode, done.stdout.strip(), done.stderr.strip())


def demand(*command: str, given: str = "") -> str:
    """As `ask`, its output; raises what `failed` says when it ends with an error."""
    answer = ask(*command, given=given)
    if answer.code:
        raise failed(" ".join(command[:3]), answer)
    return answer.out


def failed(command: str, answer: Answer) -> LaunchFailed:
    """What to raise of a command that ended with an error, in its own words (pure)."""
    said = (answer.complaint or answer.out)[-500:]
    kind = NeverTaken if _NEVER.search(said) else LaunchFailed
    return kind(f"`{command}` ended with {answer.code}: {said}")
