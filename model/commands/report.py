"""`r4p report` writes a page with figures and tables from the run files of a folder."""

from pathlib import Path
from typing import Annotated

import typer

from model.commands.exit_codes import STDERR, Exit, format_count, stop, warn
from model.commands.extras import require_extras
from model.errors import BadRun

_REPORT = "report"
_Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="Run files of r4p evaluate; the report is written there."),
]


def report(folder: _Folder) -> None:
    """Write DIR/report.html and a PNG for each figure.

    Exit codes: 0 written, 2 usage.
    """
    require_extras(_REPORT, "report")
    from model.evaluation.report.html_page import PAGE, write_report
    from model.evaluation.report.input_folder import read_report_input
    from model.evaluation.report.outline import build_report

    try:
        inputs = read_report_input(folder)
    except BadRun as error:
        stop(_REPORT, Exit.USAGE, str(error))
    for note in inputs.notes:
        warn(_REPORT, note)
    with STDERR.status("measuring and drawing", spinner="line"):
        try:
            figures = write_report(build_report(inputs), folder)
        except OSError as error:
            stop(
                _REPORT,
                Exit.USAGE,
                f"{error.filename or folder} can't be written: {error.strerror}",
            )
    files = len(inputs.runs) + len(inputs.attacks)
    typer.echo(
        f"{folder / PAGE}: {format_count(files, 'run file')}, {format_count(figures, 'figure')}"
    )
