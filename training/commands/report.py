"""`r4p train report`: write a page with figures and tables of one run."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from model.commands.exit_codes import exit_on_error, format_count, warn
from model.commands.extras import require_extras
from model.commands.report import write_page
from training.runs.run_folder import BadRun

_NAME = "train report"


def report(
    run: Annotated[
        Path,
        Argument(
            metavar="RUN", help="The --run folder of r4p train run; the page is written there."
        ),
    ],
) -> None:
    """Write RUN/report.html and one PNG per figure, also for an unfinished run.

    Exit codes: 0 written, 2 usage.
    """
    require_extras(_NAME, "report")
    from training.report.overview import build_page
    from training.report.run_reader import read_run

    with exit_on_error(_NAME, BadRun):
        training_run = read_run(run)
    for note in training_run.notes:
        warn(_NAME, note)
    steps = format_count(len(training_run.steps), "step")
    write_page(_NAME, build_page(training_run), run, steps)
