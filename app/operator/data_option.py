"""The option `--data DIR` of the operator's commands: it reaches the bot that `r4p up --data DIR` runs."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

from typer import Option

from model.commands.exit_codes import Exit, stop


def use_data(data: Path | None) -> Path | None:
    """Point this process at the database and the settings of the bot in `data`; None: leave both as they are.

    Ends the process with exit code 2 if no bot runs there.
    """
    if data is None:
        return None
    from app.settings import data_folder

    try:
        data_folder.use_running_bot(data)
        data_folder.use_settings(data, ("R4P_ENGINE_API_KEY",))
    except data_folder.BadFolder as error:
        stop("--data", Exit.USAGE, str(error))
    return data


def use_everything(data: Path) -> None:
    """Use the settings and secrets that `data` holds, and its database and broker if the bot runs.

    Ends the process with exit code 2 if `data` is no folder, or a file in it cannot be read.
    """
    from app.settings import data_folder

    if not data.is_dir():
        fix = f"correct --data, or create the folder by `r4p up --data {data}`"
        stop("--data", Exit.USAGE, f"there is no folder {data}: {fix}")
    try:
        data_folder.use_settings(data, data_folder.SECRET_FILES)
        with suppress(data_folder.NotRunning):
            data_folder.use_running_bot(data)
    except data_folder.BadFolder as error:
        stop("--data", Exit.USAGE, str(error))


DataOption = Annotated[
    Path | None,
    Option(
        "--data",
        metavar="DIR",
        is_eager=True,
        callback=use_data,
        help="Folder of the bot that `r4p up` runs, in place of R4P_DATABASE_URL.",
    ),
]
