"""`r4p index` builds or updates the code graph of a source tree and reports statistics."""

import hashlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

from rich.console import Console
from typer import Argument, Option

from model.codegraph.entities import IndexReport
from model.commands.exit_codes import STDERR, exit_on_error, print_json
from model.errors import NoCodeGraph, NoTree

_SHOWN = 20


def index(
    directory: Annotated[
        Path, Argument(metavar="DIR", help="A git repository (its HEAD), or any directory.")
    ],
    database: Annotated[
        Path | None, Option(metavar="FILE", help="File of the index (~/.cache/r4p/index).")
    ] = None,
    json_output: Annotated[bool, Option("--json", help="Print one r4p.index/1 document.")] = False,
) -> None:
    """Index every class, function and method of a source tree. Unchanged files are not read again.

    Exit codes: 0 done (files that were left out are listed), 2 nothing to index.
    """
    from model.codegraph.index import open_index
    from model.codegraph.languages import detect_language, list_languages
    from model.codegraph.source_tree import survey

    file = database or locate_index(directory)
    with exit_on_error("index", NoCodeGraph):
        tree = survey(directory)
        if all(detect_language(path) is None for path in tree.blobs) and not tree.skipped:
            raise NoTree(
                f"{directory} holds no source file in a known language ({', '.join(list_languages())});"
                " name a folder that does"
            )
        with open_index(file) as opened, STDERR.status(f"indexing {directory}"):
            _, report = opened.build_snapshot(tree.blobs, tree.read)
    report = replace(report, skipped=tree.skipped + report.skipped)
    if json_output:
        document = {"schema": "r4p.index/1", "database": str(file), **asdict(report)}
        print_json(document)
    else:
        _show(report)


def locate_index(directory: Path) -> Path:
    """Return the default path of the SQLite file in which `r4p index` keeps the code graph of a directory."""
    name = hashlib.sha256(bytes(directory.resolve())).hexdigest()[:16]
    return Path.home() / ".cache" / "r4p" / "index" / f"{name}.sqlite"


def _show(report: IndexReport) -> None:
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(
        f"{report.entities:,} entities in {report.files:,} files ({report.bytes:,} bytes):"
        f" {report.parsed:,} read, {report.reused:,} known, {report.seconds:.2f} s"
    )
    left_out = [f"left out: {file.path}: {file.reason}" for file in report.skipped]
    broken = [f"broken syntax, read as far as possible: {path}" for path in report.broken]
    lines = left_out + broken
    for line in lines[:_SHOWN]:
        console.print(line)
    if len(lines) > _SHOWN:
        console.print(f"and {len(lines) - _SHOWN:,} more; --json lists all")
