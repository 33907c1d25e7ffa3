"""`r4p train report`: write a page with figures and tables of one run."""

from pathlib import Path
from typing import Annotated

import typer

from model.commands.exit_codes import Exit, format_count, stop, warn
from model.commands.extras import require_extras
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
    """Write RUN/report.html and one PNG per figure, also for an unfinished run.

    Exit codes: 0 written, 2 usage.
    """
    require_extras(_NAME, "report")
    from model.evaluation.report.html_page import PAGE, write_report
    from training.report.overview import build_page
    from training.report.run_reader import read_run

    try:
        training_run = read_run(run)
    except BadRun as error:
        stop(_NAME, Exit.USAGE, str(error))
    for note in training_run.notes:
        warn(_NAME, note)
    try:
        figures = write_report(build_page(training_run), run)
    except OSError as error:
        stop(_NAME, Exit.USAGE, f"{error.filename or run} can't be written: {error.strerror}")
    typer.echo(
        f"{run / PAGE}: {format_count(len(training_run.steps), 'step')}, {format_count(figures, 'figure')}"
    )
