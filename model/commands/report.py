"""`r4p report` writes a page with figures and tables from the run files of a folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from model.commands.exit_codes import STDERR, Exit, format_count, stop, warn
from model.commands.extras import require_extras
from model.errors import BadRun, UnknownVerifier

if TYPE_CHECKING:  # numpy and matplotlib load when the command runs
    from model.evaluation.report.content import Report
    from model.evaluation.report.input_folder import ReportInput
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
    require_extras(_REPORT, "report")
    from model.evaluation.report.input_folder import read_report_input

    try:
        found = read_report_input(folder)
    except BadRun as error:
        stop(_REPORT, Exit.USAGE, str(error))
    for note in found.notes:
        warn(_REPORT, note)
    with STDERR.status("measuring and drawing", spinner="line"):
        made = _made(found)
        from model.evaluation.report.report_writer import PAGE, write_report

        try:
            figures = write_report(made, folder)
        except OSError as error:
            stop(
                _REPORT,
                Exit.USAGE,
                f"{error.filename or folder} can't be written: {error.strerror}",
            )
    files = len(found.runs) + len(found.attacks)
    typer.echo(
        f"{folder / PAGE}: {format_count(files, 'run file')}, {format_count(figures, 'figure')}"
    )


def _made(folder: "ReportInput") -> "Report":
    from model.evaluation.report.content import Report
    from model.evaluation.report.outline import build_sections
    from model.evaluation.report.series import build_sets

    found = build_sets(folder.runs)
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
        build_sections(found, folder.attacks),
    )


def _caution(series: "Series") -> str | None:
    """Return the warning that `r4p evaluate` printed; None for a verifier of another version."""
    from model.evaluation import judge_catalog

    try:
        return judge_catalog.build_caution(
            judge_catalog.strip_suffixes(series.key.verifier), series.judged
        )
    except UnknownVerifier:
        return None
