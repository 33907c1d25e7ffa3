"""The command lines `r4p backup` and `r4p restore`. They load the rest of this room when somebody calls them."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

_DataFolder = Annotated[
    Path | None,
    Option(
        "--data",
        metavar="DIR",
        help="Folder of `r4p up`. Without it: the database of R4P_DATABASE_URL alone.",
    ),
]


def backup(
    target: Annotated[Path, Argument(metavar="FILE", help="New file for the backup.")],
    data: _DataFolder = None,
) -> None:
    """Back up the database, and with --data the bot's folder, into one file. The bot may run meanwhile.

    The file holds secrets. Only its owner may read it.
    """
    from app.operator.backup import commands

    commands.backup(target, data)


def restore(
    source: Annotated[Path, Argument(metavar="FILE", help="A file of `r4p backup`.")],
    data: _DataFolder = None,
) -> None:
    """Restore a backup into a new folder, or into an empty database, and migrate it to this version.

    A restore that fails leaves nothing behind.
    """
    from app.operator.backup import commands

    commands.restore(source, data)
