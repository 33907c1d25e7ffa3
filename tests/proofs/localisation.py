"""`python -m tests.proofs.localisation`: would an agent that asks for the names of an issue find the code to change?

An oracle of reading, not of judgement: every name of the text is asked for. Nothing of a patch is ever asked.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from model.agents import attempt_setup
from model.agents.tools.toolbox import ToolContext
from tests.proofs import gold, instances, lookups, names
from tests.proofs.instances import Instance
from tests.proofs.results import localisation_table
from tests.proofs.results.run_file import RunFile
from tests.proofs.trees import Chosen, choose_releases, fetch_releases, text

ASKED = {"code": names.code, "words": names.words}
"""Which names of a text are asked for: those written as code, or every word."""
CONSOLE = Console(stderr=True)


def main(
    data: Annotated[Path, typer.Option(help="The folder with labelled issues.")],
    trees: Annotated[Path, typer.Option(help="Where releases are unpacked, and kept.")],
    out: Annotated[Path, typer.Option(help="One JSON object per issue; a run goes on with it.")],
) -> None:
    """Share of issues whose patched definitions the tools find; a table on stdout, a summary beside the run file."""
    run = RunFile(out, "instance")
    with _progress() as bar:
        found = instances.read(data)
        task = bar.add_task("", total=len(found))
        for repo, own in groupby(found, key=lambda instance: instance.repo):
            issues = list(own)
            if all(run.has(one.id) for one in issues):
                continue
            bar.update(task, description=f"sources of {repo}")
            releases = fetch_releases(repo, trees, CONSOLE.print)
            places = zip(issues, choose_releases(issues, releases), strict=True)
            todo = [(one, place) for one, place in places if not run.has(one.id)]
            for row in _rows(todo, list(releases), trees / "index.sqlite"):
                run.add(row)
                bar.update(task, description=repo, completed=len(run.rows))
    summary = localisation_table.summary(run.rows)
    out.with_suffix(".summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    typer.echo(localisation_table.markdown(summary))


def _rows(
    todo: Sequence[tuple[Instance, Chosen | None]], releases: Sequence[str], database: Path
) -> Iterator[dict[str, Any]]:
    """Release by release, so that each tree is opened once."""
    order = sorted(todo, key=lambda pair: releases.index(pair[1].release) if pair[1] else -1)
    for tree, pairs in groupby(order, key=lambda pair: pair[1] and pair[1].tree):
        if tree is None:
            yield from (_row(instance, None) for instance, _ in pairs)
            continue
        with attempt_setup.open_tool_contexts(tree, database) as opened, opened() as desk:
            for instance, choice in pairs:
                yield _row(instance, choice) | _look_up(instance, choice, desk)


def _row(instance: Instance, choice: Chosen | None) -> dict[str, Any]:
    return {
        "instance": instance.id,
        "repo": instance.repo,
        "release": choice.release if choice else None,
        "fit": asdict(choice.fit) if choice else None,
    }


def _look_up(instance: Instance, choice: Chosen, desk: ToolContext) -> dict[str, Any]:
    wanted = gold.find_changed(instance.patch, lambda path: text(choice.tree, path))
    if not wanted:
        return {"entities": 0}
    return {
        "entities": len(wanted),
        "files": len({one.path for one in wanted}),
        "unreachable": [
            f"{one.path}: {one.qualified_name}" for one in lookups.unreachable(desk, wanted)
        ],
        **{
            kind: asdict(lookups.count_found(asked, lookups.answers(desk, asked), wanted))
            for kind, asked in ((kind, of(instance.issue.text)) for kind, of in ASKED.items())
        },
    }


def _progress() -> Progress:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, TimeElapsedColumn(), console=CONSOLE, transient=True)


if __name__ == "__main__":
    typer.run(main)
