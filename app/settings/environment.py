"""The environment of this process and of its child processes."""

import os
import sys
from collections.abc import Mapping


def read_environment() -> dict[str, str]:
    """Return this process's environment variables."""
    return dict(os.environ)


def build_child_environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment variables with `changes`, new values by name, for a child process."""
    return {**os.environ, **changes}


def build_plain_environment() -> dict[str, str]:
    """Return a small environment without secrets, such as PATH and HOME, for a child process that we do not trust."""
    return {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ
    }


def get_interpreter() -> str:
    """Return the path of the Python interpreter that runs this process, to start child processes."""
    return sys.executable


def set_environment(values: Mapping[str, str]) -> None:
    """Replace environment variables of this process, and so of its later child processes, by `values`."""
    os.environ.update(values)
