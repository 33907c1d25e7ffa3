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


def stop(command: str, code: Exit, message: str) -> NoReturn:
    """One line on stderr, and the exit code."""
    STDERR.print(visible(f"r4p {command}: {' '.join(message.split())}"))
    raise typer.Exit(code)
