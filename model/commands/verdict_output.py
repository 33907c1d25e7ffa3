"""Output of `r4p verify` for people: the progress on stderr and the verdicts on stdout."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from model import catalog
from model.commands.exit_codes import STDERR
from model.domain import GroupVerdict, Verdict
from model.prompts.untrusted import escape_invisible

_COLOURS = {
    Verdict.CORRECT: "green",
    Verdict.INCORRECT: "red",
    Verdict.UNSURE: "yellow",
    Verdict.NOT_JUDGED: "bright_black",
}


@contextmanager
def show_progress() -> Iterator[Callable[[str, int], None]]:
    """Show the current step and its count (0: unknown) on a terminal; show nothing when stderr is a file."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    shown = STDERR.is_terminal
    with Progress(*columns, console=STDERR, transient=True, disable=not shown) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda step, done: bar.update(task, description=f"{step} {done}" if done else step)


def print_verdict(verdict: GroupVerdict) -> None:
    """Print a table of the verdicts, the reason of each verdict, and the cost."""
    out = Console(highlight=False, markup=False)
    names = ("patch", "verdict", "votes for", "against", "none", "files seen", "score")
    weighed = any(patch.probability is not None for patch in verdict.patches)
    table = Table(*names, *(["probability"] if weighed else []))
    for patch in verdict.patches:
        table.add_row(
            Text(escape_invisible(patch.id)),
            Text(patch.verdict.value.replace("_", " "), style=_COLOURS[patch.verdict]),
            str(patch.votes.correct),
            str(patch.votes.incorrect),
            str(patch.votes.none),
            f"{patch.coverage.files_seen} of {patch.coverage.files}",
            *map(_format_number, (patch.score, patch.probability)[: 1 + weighed]),
        )
    out.print(table)
    for patch in verdict.patches:
        out.print(Text(escape_invisible(f"{patch.id}: {patch.reason}")))
    out.print(Text(_describe_cost(verdict)))


def _format_number(belief: float | None) -> str:
    return "–" if belief is None else f"{belief:.2f}"


def _describe_cost(verdict: GroupVerdict) -> str:
    """Describe which engine was asked and what it cost."""
    if verdict.engine.name in catalog.ENGINELESS_VERIFIERS:
        return (
            "no model was asked: consensus compared the patches, fitted on all issues with labels"
        )
    spared = f" ({verdict.spared} more could change nothing)" if verdict.spared else ""
    forced = f" ({verdict.forced_votes} only when asked again)" if verdict.forced_votes else ""
    return (
        f"{verdict.engine.model}: {verdict.valid} of {verdict.asked} votes read{forced}{spared}, "
        f"{verdict.tokens.prompt:,} + {verdict.tokens.completion:,} tokens, {verdict.total_seconds:.1f} s"
    )
