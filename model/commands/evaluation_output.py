"""Output of `r4p evaluate` for people: the progress on stderr and the metrics on stdout."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from model.commands.exit_codes import STDERR
from model.prompts.untrusted import escape_invisible


@contextmanager
def show_progress(total: int) -> Iterator[tuple[Callable[[str], None], Callable[[int], None]]]:
    """Show the current step and the number of finished groups on a terminal; show nothing when stderr is a file."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    shown = STDERR.is_terminal
    with Progress(*columns, console=STDERR, transient=True, disable=not shown) as bar:
        task = bar.add_task("starting", total=total)
        yield (
            lambda text: bar.update(task, description=text),
            lambda done: bar.update(task, completed=done),
        )


def print_evaluation(document: dict[str, Any]) -> None:
    """Print a table of the metrics with the constant baselines, and the speed."""
    out = Console(highlight=False, markup=False)
    baselines = document["constant_baselines"] | {"majority": document["majority"] or {}}
    names = (name.replace("_", " ") for name in baselines)
    table = Table("metric", "value", "95 % interval", *names, box=SIMPLE_HEAD, padding=0)
    for name, metric in document.items():
        if isinstance(metric, dict) and "low" in metric:
            beside = [base.get(name) for base in baselines.values()]
            table.add_row(
                name.replace("_", " "),
                _format_number(metric["value"]),
                f"{_format_number(metric['low'])} … {_format_number(metric['high'])}",
                *(_format_number(base["value"]) if base else "" for base in beside),
            )
    out.print(table)
    seconds, engine = document["seconds_per_patch"], document["engine"]
    out.print(
        escape_invisible(
            f"{document['verifier']} with {engine['model']}: {document['groups']} groups of "
            f"{document['issues']} issues, {document['patches']} patches, "
            f"{seconds['mean']:.3g} s a patch (p50 {seconds['p50']:.3g}, p95 {seconds['p95']:.3g})"
        )
    )


def _format_number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
