"""`r4p train dataset tests`: how many fixes change tests, beside the figure of the R4P paper."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from typer import Option

from app.operator.data_option import DataOption
from model.commands.exit_codes import exit_on_error, print_json
from model.commands.options import AsJson
from model.errors import BadGroups
from model.evaluation.labelled_group import iterate_lines, read_groups
from training import corpus
from training.curation.fix_study import (
    PAPER_QUALIFIED,
    PAPER_TESTED,
    FixStudy,
    parse_instance,
    study_fixes,
)
from training.curation.pools import Pool, build_from_groups

_NAME = "train dataset tests"


def count_tests(
    groups: Annotated[
        list[Path] | None,
        Option(
            metavar="FILE",
            help="File of labelled groups: each patch counts, or only the texts with --instances.",
        ),
    ] = None,
    instances: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="File of SWE-bench instances: the developers' fix counts."),
    ] = None,
    *,
    outcomes: Annotated[
        bool, Option(help="Take the patches of the database of R4P_DATABASE_URL, too.")
    ] = False,
    as_json: AsJson = False,
    _data: DataOption = None,
) -> None:
    """Count the fixes of issues that change tests, as R4P does in appendix A, with a 95 % interval over issues."""
    with exit_on_error(_NAME):
        if not (groups or instances or outcomes):
            raise BadGroups("nothing to count: give --groups, --instances or --outcomes")
        study = study_fixes(_read_pools(groups or [], instances or [], outcomes=outcomes))
    if as_json:
        print_json(
            asdict(study) | {"paper": {"qualified": PAPER_QUALIFIED, "tested": PAPER_TESTED}}
        )
    else:
        _print_study(study)


def _read_pools(groups: list[Path], instances: list[Path], *, outcomes: bool) -> Iterator[Pool]:
    pools = build_from_groups(group for path in groups for group in read_groups(path))
    if not instances:
        yield from pools
    statements = {pool.issue: pool.statement for pool in pools}
    for path in instances:
        for number, line in enumerate(iterate_lines(path), 1):
            if line.strip():
                yield parse_instance(line, f"{path}, line {number}", statements)
    if outcomes:
        with corpus.open_corpus() as store:
            yield from store.build_pools(datetime.now(UTC))


def _print_study(study: FixStudy) -> None:
    out = Console(highlight=False, markup=False)
    table = Table("", "fixes", "qualified", "with tests", "share", "95 %", box=SIMPLE_HEAD)
    counts = (study.fixes, study.qualified, study.tested)
    share = study.share
    table.add_row(
        "here",
        *(f"{count:,}" for count in counts),
        _format(share.value),
        f"{_format(share.low)}…{_format(share.high)}",
    )
    table.add_row(
        "R4P, app. A",
        "610,804",
        f"{PAPER_QUALIFIED:,}",
        f"{PAPER_TESTED:,}",
        _format(PAPER_TESTED / PAPER_QUALIFIED),
        "",
    )
    out.print(table)
    dropped = "; ".join(f"{why}: {count:,}" for why, count in study.dropped.items())
    out.print(f"{study.issues:,} issues; dropped by the paper's filters: {dropped or 'none'}")


def _format(share: float | None) -> str:
    return "–" if share is None else f"{share:.2%}"
