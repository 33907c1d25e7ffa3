"""Builds the command of a child Python: a module of an installed package, and nothing from the current folder."""

import sys


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module in a child of this interpreter, as `python -m` does.

    `-P` keeps the current folder out of the places that Python imports from. Somebody may start the bot in a folder
    that has an `app.py` or a `model.py`, which Python would otherwise run in place of our packages.
    """
    return [sys.executable, "-P", "-m", module, *arguments]
