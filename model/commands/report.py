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
        inputs = read_report_input(folder)
    except BadRun as error:
        stop(_REPORT, Exit.USAGE, str(error))
    for note in inputs.notes:
        warn(_REPORT, note)
    with STDERR.status("measuring and drawing", spinner="line"):
        page = _build_report(inputs)
        from model.evaluation.report.html_page import PAGE, write_report

        try:
            figures = write_report(page, folder)
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


def _build_report(folder: "ReportInput") -> "Report":
    from model.evaluation.report.content import Report
    from model.evaluation.report.outline import build_sections
    from model.evaluation.report.series import build_sets

    series_sets = build_sets(folder.runs)
    cautions = tuple(
        f"{series_set.name}, {series.label}: {caution}"
        for series_set in series_sets
        for series in series_set.series
        if (caution := _get_caution(series))
    )
    names = ", ".join(series_set.name for series_set in series_sets)
    return Report(
        "How right the verifiers are",
        (f"Measured offline on patches whose truth is known: {names}.",),
        (*folder.notes, *cautions),
        build_sections(series_sets, folder.attacks),
    )


def _get_caution(series: "Series") -> str | None:
    """Return the warning that `r4p evaluate` printed; None for a verifier of another version."""
    from model.evaluation import judge_catalog

    try:
        return judge_catalog.build_caution(
            judge_catalog.strip_suffixes(series.key.verifier), series.judged
        )
    except UnknownVerifier:
        return None
