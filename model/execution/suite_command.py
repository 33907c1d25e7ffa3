"""How the tests of a repository are run: the command, its Python and its limits (pure)."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from model.errors import BadSuiteCommand
from model.sandbox.limits import ResourceLimits

DEFAULT_COMMAND: Final = "pytest"
SECONDS: Final = 300.0
"""Time limit of one run, unless the caller sets another."""
_LIMITS: Final = ResourceLimits(
    memory_bytes=4 * 1024**3,
    file_bytes=256 * 1024**2,
    files=512,
    processes=256,
    cpu_seconds=600,
    has_sockets=True,
)


@dataclass(frozen=True, slots=True)
class SuiteCommand:
    """A test command with its limits."""

    arguments: tuple[str, ...] = ()
    """Arguments of pytest."""
    python: Path | None = None
    """The interpreter of the environment with the repository's dependencies; None takes this process's own."""
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Environment variables of the tests."""
    seconds: float = SECONDS
    scratch_bytes: int = 512 * 1024**2
    """Size of the folder in memory that holds the tree and everything that the tests write."""
    output_bytes: int = 16 * 1024**2
    """Most bytes of the signed report."""
    limits: ResourceLimits = _LIMITS


def parse_command(text: str) -> SuiteCommand:
    """Return the test command that `text` writes as in a shell, such as `pytest -x tests`. Raises BadSuiteCommand."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadSuiteCommand(f"test command {text!r} cannot be read: {error}") from error
    while words and words[0] in {"python", "python3", "-m"}:
        words = words[1:]
    if not words or words[0] != "pytest":
        raise BadSuiteCommand(
            f"test command {text!r} starts no test runner that is known here; write `pytest …` or `python -m pytest …`"
        )
    return SuiteCommand(tuple(words[1:]))
