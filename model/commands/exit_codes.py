"""How the commands about verifiers end: their exit codes, and the one line of a command that was stopped."""

from enum import IntEnum
from typing import NoReturn

import typer
from rich.console import Console

from model.errors import BadChoice, BadEngine, BadGroups, BadRun, TemplateError, UnknownVerifier
from model.prompts.untrusted import visible

MISUSED = (BadChoice, BadEngine, BadGroups, BadRun, TemplateError, UnknownVerifier)
"""What whoever typed the command can put right; any other ModelError is the engine's."""

STDERR = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


class Exit(IntEnum):
    """What the exit code of `r4p verify` means; the other commands know the first, the second and the last."""

    OK = 0
    """At least one candidate is held to be correct."""
    USAGE = 2
    NONE_CORRECT = 3
    """Every candidate was judged, and none is correct."""
    UNSURE = 4
    """No candidate is held to be correct, and at least one could not be decided or judged."""
    BACKEND_DOWN = 5


def count(number: int, noun: str) -> str:
    """The number with its noun, such as `1 step` and `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def warn(command: str, message: str) -> None:
    """One line on stderr; the command goes on."""
    STDERR.print(visible(f"r4p {command}: {' '.join(message.split())}"))


def stop(command: str, code: Exit, message: str) -> NoReturn:
    """One line on stderr, and the exit code."""
    warn(command, message)
    raise typer.Exit(code)
