"""Runs a program to its end and returns what it printed, or says why it failed."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.settings import build_child_environment

_SECONDS = 180


class ProgramFailed(Exception):
    """It ended with another code than 0; the message ends with what it said."""


def output(command: Sequence[str], directory: Path, changes: Mapping[str, str]) -> str:
    """Its standard output. Raises ProgramFailed."""
    done = subprocess.run(
        command,
        cwd=directory,
        env=build_child_environment(changes),
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    if done.returncode:
        raise ProgramFailed(f"{' '.join(command)}: {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout.strip()
