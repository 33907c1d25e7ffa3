"""`r4p train report`: a page with figures and tables from a run's folder."""

from pathlib import Path
from typing import Annotated

import typer

from model.commands.exit_codes import Exit, count, stop, warn
from model.commands.extras import require
from training.runs.run_folder import BadRun

_NAME = "train report"


def report(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="The --run folder of r4p train run; the page is written there."
        ),
    ],
) -> None:
    """Write RUN/report.html and a PNG for each figure; a run that goes on is drawn as far as it came.

    Exit codes: 0 written, 2 usage.
    """
    require(_NAME, "report")
    from model.evaluation.report.report_writer import PAGE, write
    from training.report.outline import made
    from training.report.run_reader import read

    try:
        found = read(run)
    except BadRun as error:
        stop(_NAME, Exit.USAGE, str(error))
    for note in found.notes:
        warn(_NAME, note)
    try:
        figures = write(made(found), run)
    except OSError as error:
        stop(_NAME, Exit.USAGE, f"{error.filename or run} can't be written: {error.strerror}")
    typer.echo(f"{run / PAGE}: {count(len(found.steps), 'step')}, {count(figures, 'figure')}")
