"""Shell completion of the commands that pass their words on to a module, which loads only when the command runs."""

from collections.abc import Mapping
from typing import Annotated, Final

from typer import Argument, Context

_LABELS: Final = ("audit", "explain", "export", "sample", "summary")

SUB_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "config": ("commands", "show", "validate"),
    "gym": ("build", "check", "export", "import-swebench", "run", "sample", "show"),
    "labels": _LABELS,
    "models": ("calibrators", "list", "outcomes", "promote", "register", "rollback", "show"),
    "train": (
        "attempts",
        "dataset",
        "evaluate",
        "export-verl",
        "labels",
        "merge",
        "outcomes",
        "report",
        "run",
        "start",
        "status",
    ),
    "train dataset": ("build", "show", "tests"),
    "train labels": _LABELS,
}
"""The sub-commands of each command that passes its words on. To ask its module for them would take seconds a key press."""


def complete_word(context: Context, incomplete: str) -> list[str]:
    """Return the sub-commands that begin with `incomplete`, after the words that the context holds."""
    path = " ".join([context.info_name or "", *(context.params.get("words") or ())])
    return [name for name in SUB_COMMANDS.get(path, ()) if name.startswith(incomplete)]


PassedWords = Annotated[list[str] | None, Argument(autocompletion=complete_word)]
"""The words of such a command, which its module reads."""
