"""`r4p report`: a page with figures and tables from the run files of a folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from model.commands.exit_codes import STDERR, Exit, count, stop, warn
from model.commands.extras import require
from model.errors import BadRun, UnknownVerifier

if TYPE_CHECKING:  # numpy and matplotlib load when the command runs
    from model.evaluation.report.content import Report
    from model.evaluation.report.input_folder import Folder
    from model.evaluation.report.series import Series

_REPORT = "report"
_Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="Run files of r4p evaluate; the report is written there."),
]


def report(folder: _Folder) -> None:
    """Write DIR/report.html and a PNG for each figure.

    Exit codes: 0 written, 2 usage.
    """
    require(_REPORT, "report")
    from model.evaluation.report.input_folder import read

    try:
        found = read(folder)
    except BadRun as error:
        stop(_REPORT, Exit.USAGE, str(error))
    for note in found.notes:
        warn(_REPORT, note)
    with STDERR.status("measuring and drawing", spinner="line"):
        made = _made(found)
        from model.evaluation.report.report_writer import PAGE, write

        try:
            figures = write(made, folder)
        except OSError as error:
            stop(
                _REPORT,
                Exit.USAGE,
                f"{error.filename or folder} can't be written: {error.strerror}",
            )
    files = len(found.runs) + len(found.attacks)
    typer.echo(f"{folder / PAGE}: {count(files, 'run file')}, {count(figures, 'figure')}")


def _made(folder: "Folder") -> "Report":
    from model.evaluation.report.content import Report
    from model.evaluation.report.outline import sections
    from model.evaluation.report.series import sets

    found = sets(folder.runs)
    cautions = tuple(
        f"{one.name}, {series.label}: {caution}"
        for one in found
        for series in one.series
        if (caution := _caution(series))
    )
    names = ", ".join(one.name for one in found)
    return Report(
        "How right the verifiers are",
        (f"Measured offline on patches whose truth is known: {names}.",),
        (*folder.notes, *cautions),
        sections(found, folder.attacks),
    )


def _caution(series: "Series") -> str | None:
    """What `r4p evaluate` warned of; nothing for a verifier that only another version knows."""
    from model.evaluation import judge_catalog

    try:
        return judge_catalog.caution(judge_catalog.plain(series.key.verifier), series.judged)
    except UnknownVerifier:
        return None
