"""This module builds the command line of a child Python process."""

import sys


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the words of the command that runs `module` with `arguments` in a child process of this Python.

    `-P` keeps the current folder out of Python's import path. Otherwise an `app.py` or a `model.py` in the folder where
    the operator starts the bot would run in place of our packages.
    """
    return [sys.executable, "-P", "-m", module, *arguments]
