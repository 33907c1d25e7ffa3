"""The environment of this process, as its children may have it."""

import os
import sys
from collections.abc import Mapping


def variables() -> dict[str, str]:
    """This process's environment."""
    return dict(os.environ)


def child_environment(changes: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with changes, for a child process we start."""
    return {**os.environ, **changes}


def plain_environment() -> dict[str, str]:
    """The little that an untrusting child needs: where programs are, and no secret of ours."""
    return {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ
    }


def python() -> str:
    """The interpreter that runs us, for child processes."""
    return sys.executable
