"""`r4p report` writes a page with figures and tables from the run files of a folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument

from model.commands.exit_codes import STDERR, Exit, exit_on_error, format_count, stop, warn
from model.commands.extras import require_extras

if TYPE_CHECKING:  # numpy and matplotlib load when the command runs
    from model.evaluation.report.content import Report

_REPORT = "report"


def report(
    folder: Annotated[
        Path,
        Argument(metavar="DIR", help="Run files of r4p evaluate; the report is written there."),
    ],
) -> None:
    """Write DIR/report.html, with figures and tables of the run files in DIR, and a PNG for each figure.

    Exit codes: 0 written, 2 usage.
    """
    require_extras(_REPORT, "report")
    from model.evaluation.report.input_folder import read_report_input
    from model.evaluation.report.outline import build_report

    with exit_on_error(_REPORT):
        inputs = read_report_input(folder)
    for note in inputs.notes:
        warn(_REPORT, note)
    with STDERR.status("measuring and drawing", spinner="line"):
        files = format_count(
            len(inputs.runs) + len(inputs.attacks) + len(inputs.best_of), "run file"
        )
        write_page(_REPORT, build_report(inputs), folder, files)


def write_page(command: str, page: "Report", folder: Path, material: str) -> None:
    """Write a report's page and figures into `folder`, and print the page's path.

    `material` says in the printed line what the page is about, such as `3 run files`. The command `command` exits with
    code 2 when the folder cannot be written.
    """
    from model.evaluation.report.html_page import PAGE, write_report

    try:
        figures = write_report(page, folder)
    except OSError as error:
        stop(command, Exit.USAGE, f"{error.filename or folder} can't be written: {error.strerror}")
    typer.echo(f"{folder / PAGE}: {material}, {format_count(figures, 'figure')}")
