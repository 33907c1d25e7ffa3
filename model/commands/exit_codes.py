"""Exit codes of the commands, and their one-line messages on stderr."""

from enum import IntEnum
from typing import NoReturn

import typer
from rich.console import Console

from model.errors import (
    BadEngine,
    BadGroups,
    BadRun,
    IncompatibleOptions,
    TemplateError,
    UnknownVerifier,
)
from model.prompts.untrusted import escape_invisible

USAGE_ERRORS = (IncompatibleOptions, BadEngine, BadGroups, BadRun, TemplateError, UnknownVerifier)
"""Errors that the user of a command can fix. Every other ModelError is an engine error."""

STDERR = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


class Exit(IntEnum):
    """Exit codes of `r4p verify`. The other commands use OK, USAGE and BACKEND_DOWN."""

    OK = 0
    """At least one candidate is judged correct."""
    USAGE = 2
    NONE_CORRECT = 3
    """Every candidate was judged, and none is correct."""
    UNSURE = 4
    """No candidate is judged correct, and at least one is unsure or not judged."""
    BACKEND_DOWN = 5


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun, such as `1 step` and `2 steps`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def warn(command: str, message: str) -> None:
    """Print one line on stderr and continue."""
    STDERR.print(escape_invisible(f"r4p {command}: {' '.join(message.split())}"))


def stop(command: str, code: Exit, message: str) -> NoReturn:
    """Print one line on stderr and exit with the code."""
    warn(command, message)
    raise typer.Exit(code)
