"""Exit codes of the commands, and the lines and JSON documents that every command prints in the same way."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NoReturn

import typer
from rich.console import Console

from model.errors import (
    BadEngine,
    BadGroups,
    BadGym,
    BadRecipe,
    BadRun,
    IncompatibleOptions,
    ModelError,
    NoEnvironment,
    TemplateError,
    UnknownVerifier,
)
from model.prompts.untrusted import escape_invisible

_USAGE_ERRORS: tuple[type[Exception], ...] = (
    IncompatibleOptions,
    BadEngine,
    BadGroups,
    BadGym,
    BadRecipe,
    BadRun,
    NoEnvironment,
    TemplateError,
    UnknownVerifier,
)
"""Errors that the user of a command can fix. Every other ModelError is an engine error."""

STDERR = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


class Exit(IntEnum):
    """Exit codes of `r4p verify`. Of these, most other commands use only OK, USAGE and BACKEND_DOWN."""

    OK = 0
    """At least one candidate is judged correct."""
    USAGE = 2
    NONE_CORRECT = 3
    """Every candidate was judged, and none is correct."""
    UNSURE = 4
    """No candidate is judged correct, and at least one is unsure or not judged."""
    BACKEND_DOWN = 5
    NOTHING_JUDGED = 6
    """With `--repo`: fewer than two pull requests can be compared, or the event names no single issue."""


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 step` and `2 steps`. `noun` is singular; its plural adds an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def print_json(document: object) -> None:
    """Print a JSON-serialisable document on stdout, indented."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")


def warn(command: str, message: str) -> None:
    """Print `message` as one line on stderr, after `r4p` and the name of the command."""
    STDERR.print(escape_invisible(f"r4p {command}: {' '.join(message.split())}"))


def stop(command: str, code: int, message: str) -> NoReturn:
    """Print `message` as one line on stderr, and exit the command with the exit code `code`."""
    warn(command, message)
    raise typer.Exit(code)


@contextmanager
def exit_on_error(
    command: str, *usage: type[Exception], hint: Callable[[], str] = str
) -> Iterator[None]:
    """End a command with one line on stderr, instead of a traceback, when the `with` block raises a known error.

    The exit code is USAGE for errors that the user can fix, which include the types `usage`, and BACKEND_DOWN for
    every other ModelError. The text that `hint` returns is added to the line of such a ModelError.
    """
    try:
        yield
    except _USAGE_ERRORS + usage as error:
        stop(command, Exit.USAGE, str(error))
    except ModelError as error:
        stop(command, Exit.BACKEND_DOWN, f"{error}{hint()}")
