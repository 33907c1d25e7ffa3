"""`r4p report`: a page with figures and tables from the run files of a folder."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console

from model.cli import Exit
from model.errors import BadRun, UnknownVerifier
from model.prompts.untrusted import visible

if TYPE_CHECKING:  # numpy and matplotlib load when the command runs
    from model.evaluation.judged import JudgedGroup
    from model.evaluation.report.content import Report
    from model.evaluation.report.series import Series

_stderr = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

PAGE = "report.html"
"""Beside it stands a PNG for each figure."""

_Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="Run files of r4p evaluate; the report is written there."),
]


def report(folder: _Folder) -> None:
    """Write DIR/report.html and a PNG for each figure.

    Exit codes: 0 written, 2 usage.
    """
    if find_spec("matplotlib") is None:
        _stop("figures need matplotlib; install it with: pip install 'r4p-bot[report]'")
    try:
        files, notes = _runs(folder)
    except BadRun as error:
        _stop(str(error))
    for note in notes:
        _stderr.print(visible(note))
    with _stderr.status("measuring and drawing", spinner="line"):
        made = _made(files, notes)
        try:
            figures = _write(made, folder)
        except OSError as error:
            _stop(f"{error.filename or folder} can't be written: {error.strerror}")
    typer.echo(f"{folder / PAGE}: {len(files)} run files, {figures} figures")


def _runs(folder: Path) -> "tuple[list[tuple[str, list[JudgedGroup]]], tuple[str, ...]]":
    """The judged groups of each file, and what is to be said about the files."""
    from model.evaluation import run_file

    if not folder.is_dir():
        raise BadRun(f"{folder} is no folder; give the --out folder of r4p evaluate")
    files, notes = [], []
    for path in sorted(folder.glob("*.jsonl")):
        judged = list(run_file.read(path))
        if run_file.unfinished(path):
            notes.append(
                f"{path.name}: the last line is half written, and was left out. Its run was killed or still goes on; "
                "the same r4p evaluate again completes it."
            )
        if judged:
            files.append((path.name, judged))
        else:
            notes.append(f"{path.name} holds no judged group yet, and was left out.")
    if not files:
        found = " ".join(notes) or "it has no .jsonl file."
        raise BadRun(
            f"nothing to report in {folder}: {found} Write run files there with: r4p evaluate --out {folder}"
        )
    return files, tuple(notes)


def _made(files: "Sequence[tuple[str, Sequence[JudgedGroup]]]", notes: tuple[str, ...]) -> "Report":
    from model.evaluation.report.content import Report
    from model.evaluation.report.outline import sections
    from model.evaluation.report.series import sets

    found = sets(files)
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
        (*notes, *cautions),
        sections(found),
    )


def _caution(series: "Series") -> str | None:
    """What `r4p evaluate` warned of; nothing for a verifier that only another version knows."""
    from model.evaluation import judges

    name = series.key.verifier.removesuffix(judges.STRICT).removesuffix(judges.ONE_OUT)
    try:
        return judges.caution(name, series.judged)
    except UnknownVerifier:
        return None


def _write(made: "Report", folder: Path) -> int:
    from model.evaluation.report.drawing import DARK, LIGHT, png
    from model.evaluation.report.page import Picture, page

    pictures = {
        figure.name: Picture(png(figure.drawing, LIGHT), png(figure.drawing, DARK))
        for section in made.sections
        for figure in section.figures
    }
    for name, picture in pictures.items():
        (folder / f"{name}.png").write_bytes(picture.light)
    (folder / PAGE).write_text(page(made, pictures), encoding="utf-8")
    return len(pictures)


def _stop(message: str) -> NoReturn:
    """One line on stderr, and the exit code of wrong usage."""
    _stderr.print(visible(f"r4p report: {' '.join(message.split())}"))
    raise typer.Exit(Exit.USAGE)
