"""This module builds the command line of a child Python process."""

import sys


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module in a child of this interpreter, as `python -m` does.

    `-P` keeps the current folder out of Python's import path. Otherwise an `app.py` or a `model.py` in the folder where
    the operator starts the bot would run in place of our packages.
    """
    return [sys.executable, "-P", "-m", module, *arguments]
