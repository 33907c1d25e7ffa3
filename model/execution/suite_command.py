"""How the tests of a repository are run: the command, its Python and its limits (pure)."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final

from model.errors import BadSuiteCommand
from model.sandbox.limits import ResourceLimits
from model.workspace.paths import explain_refusal

DEFAULT_COMMAND: Final = "pytest"
SECONDS: Final = 300.0
"""Time limit of one run, unless the caller sets another."""
_LIMITS: Final = ResourceLimits(
    memory_bytes=4 * 1024**3,
    file_bytes=256 * 1024**2,
    files=512,
    processes=256,
    cpu_seconds=600,
)

_STOPPING: Final = re.compile(
    r"-x$|--exitfirst$|--maxfail|--sw$|--stepwise|-f$|--failfast$|-n\d*$|--numprocesses|--dist|--forked$|--parallel(?!=1$)"
)
"""Arguments after which a test that did not run looks broken, or runs unseen."""


class Runner(StrEnum):
    """A test runner whose outcomes can be reported from inside."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    """`python -m unittest`, or a script that uses it, such as `runtests.py` of Django."""
    JUNIT = "junit"
    """Any command that writes JUnit XML. Its report is weaker evidence, for a patch can write that file."""
    SCRIPT = "script"
    """A reproduction test, which says by `print` whether the issue is there. No operator's command names this one."""


@dataclass(frozen=True, slots=True)
class SuiteCommand:
    """A test command with its limits."""

    arguments: tuple[str, ...] = ()
    """Arguments of pytest; for unittest, `unittest` or the path of a script, and its arguments; for JUnit, the path of
    the report, the program and its arguments."""
    runner: Runner = Runner.PYTEST
    python: Path | None = None
    """The interpreter of the environment with the repository's dependencies; None takes this process's own."""
    variables: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Environment variables of the tests."""
    seconds: float = SECONDS
    scratch_bytes: int = 512 * 1024**2
    """Size of the folder in memory that holds the tree and everything that the tests write."""
    memory_bytes: int = 4 * 1024**3
    """Most memory of all processes of a run together, without that folder."""
    output_bytes: int = 16 * 1024**2
    """Most bytes of the signed report."""
    limits: ResourceLimits = _LIMITS

    @property
    def report(self) -> str | None:
        """The path of the JUnit XML in the tree; None where a reporter of ours watches the tests."""
        return self.arguments[0] if self.runner is Runner.JUNIT else None


def parse_junit_command(text: str, report: str) -> SuiteCommand:
    """Return the command that `text` writes as in a shell, and that writes JUnit XML to the file `report` of the tree.

    Raises BadSuiteCommand.
    """
    if reason := explain_refusal(report):
        raise BadSuiteCommand(
            f"the report {report!r} cannot be used: {reason}; name a file in the tree"
        )
    words = _split(text)
    if not words:
        raise BadSuiteCommand("the test command is empty; write the program that runs the tests")
    return SuiteCommand((report, *words), Runner.JUNIT)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise BadSuiteCommand(f"test command {text!r} cannot be read: {error}") from error


def parse_command(text: str) -> SuiteCommand:
    """Return the test command that `text` writes as in a shell, such as `pytest -q tests`. Raises BadSuiteCommand."""
    words = _split(text)
    has_python = bool(words) and words[0] in {"python", "python3"}
    words = words[1:] if has_python else words
    words = words[1:] if words[:1] == ["-m"] else words
    if stopping := [word for word in words if _STOPPING.match(word)]:
        raise BadSuiteCommand(
            f"test command {text!r} holds {stopping[0]}, which stops early or runs tests in processes that are not "
            "watched; leave it out"
        )
    match words:
        case ["pytest", *arguments]:
            return SuiteCommand(tuple(arguments))
        case ["unittest", *_]:
            return SuiteCommand(tuple(words), Runner.UNITTEST)
        case [script, *_] if has_python and script.endswith(".py"):
            return SuiteCommand(tuple(words), Runner.UNITTEST)
    raise BadSuiteCommand(
        f"test command {text!r} starts no test runner that is known here; write `pytest …`, `python -m unittest …`, "
        "or `python SCRIPT.py …` for a script that uses unittest; only `r4p test --junit FILE` runs other programs"
    )
