"""`python -m tests.bench`: measure, show, write down."""

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tests import services
from tests.bench import machine, results
from tests.bench.bench import FULL, QUICK, Bench, NotMeasured, Subject
from tests.bench.results import Machine, Section
from tests.bench.subjects import (
    claiming,
    codegraph,
    diffs,
    executions,
    journey,
    prompts,
    turns,
    verdicts,
    webhook,
)

DOCS = Path(__file__).parents[2] / "docs"
SUBJECTS = {
    subject.name: subject
    for subject in (
        webhook.SUBJECT,
        claiming.SUBJECT,
        turns.SUBJECT,
        journey.SUBJECT,
        verdicts.SUBJECT,
        prompts.SUBJECT,
        diffs.SUBJECT,
        codegraph.SUBJECT,
        executions.SUBJECT,
    )
}
NAMES = ", ".join(SUBJECTS)
PEERS = Path.home() / ".cache" / "r4p" / "peers"


def main(
    only: Annotated[str, typer.Option(help=f"Comma-separated, of: {NAMES}.")] = "",
    quick: Annotated[bool, typer.Option(help="Short runs, one pair each; writes nothing.")] = False,
    peers: Annotated[
        Path, typer.Option(help="Virtual environments of peers.", envvar="R4P_BENCH_PEERS")
    ] = PEERS,
    data: Annotated[
        Path | None, typer.Option(help="Folder with labelled groups.", envvar="R4P_DATA")
    ] = None,
) -> None:
    """Measure speed beside floors and peers."""
    console = Console(stderr=True)
    chosen = _choose(only)
    sections = []
    with services.running() as running:
        facts = machine.describe(running.embedded.database_url)
        for subject in chosen:
            with tempfile.TemporaryDirectory(prefix="r4p-bench-") as scratch:
                scale = QUICK if quick else FULL
                say = partial(console.print, f"{subject.name}:", highlight=False)
                bench = Bench(running, scale, Path(scratch), peers, say, data)
                try:
                    sections.append(_measure(subject, bench, facts))
                except NotMeasured as missing:
                    console.print(f"{subject.name} is not measured: {missing}")
    _show(console, sections)
    if not quick:
        results.save(sections, DOCS)
        console.print(f"written to {DOCS}")


def _measure(subject: Subject, bench: Bench, facts: Machine) -> Section:
    before = machine.load()
    figures = [replace(one, load=before) for one in subject.measure(bench)]
    load = before, machine.load()
    return Section(subject.name, subject.about, results.today(), load, facts, tuple(figures))


def _choose(only: str) -> list[Subject]:
    names = [name for name in only.split(",") if name] or list(SUBJECTS)
    if unknown := set(names) - set(SUBJECTS):
        raise typer.BadParameter(f"no subject is called {min(unknown)!r}; there are {NAMES}")
    return [SUBJECTS[name] for name in names]


def _show(console: Console, sections: list[Section]) -> None:
    table = Table(title_justify="left", show_edge=False)
    for heading in results.HEADINGS:
        table.add_column(heading)
    for section in sections:
        for figure in section.figures:
            table.add_row(*(cell.replace("**", "") for cell in results.cells(figure)))
    Console(width=max(console.width, 140)).print(table)
    for section in sections:
        before, after = section.load
        console.print(f"{section.subject}: load average {before:g} → {after:g}")
        for figure in section.figures:
            if figure.note:
                console.print(f"  {figure.id}: {figure.note}", highlight=False)


if __name__ == "__main__":
    typer.run(main)
