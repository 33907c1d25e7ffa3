"""Terminal output of the demo: progress bars, then the verdict as a maintainer sees it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console, Group
from rich.markdown import Markdown
from rich.panel import Panel
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from model.domain import GroupVerdict
from model.prompts.untrusted import escape_invisible
from tests.builders.history.stored_outcomes import OutcomeRow
from tests.github.facts import CheckFacts

_HIDDEN = re.compile(r"<!--.*?-->", re.DOTALL)
_FOLD = re.compile(r"</?details>|</summary>")
_CHECK_SIGNS = {"success": "✔", "failure": "✘", "neutral": "■", "skipped": "⃠"}


@dataclass(frozen=True, slots=True)
class Steps:
    """Progress bars on standard error, one per long step."""

    console: Console

    @contextmanager
    def step(self, what: str) -> Iterator[Callable[[str, int, int], None]]:
        """Show a bar for a step; its updater takes a text, the amount done and the total (0: unknown)."""
        with Progress(
            SpinnerColumn(finished_text="✔"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[detail]}"),
            TimeElapsedColumn(),
            console=self.console,
        ) as progress:
            task = progress.add_task(what, total=None, detail="")

            def update(detail: str, done: int = 0, total: int = 0) -> None:
                progress.update(task, detail=detail, completed=done, total=total or None)

            yield update
            progress.update(task, detail="", completed=1, total=1)

    @contextmanager
    def download(self, what: str) -> Iterator[Callable[[str, int, int], None]]:
        """Show a bar that counts bytes."""
        with Progress(
            SpinnerColumn(finished_text="✔"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            DownloadColumn(),
            TimeElapsedColumn(),
            console=self.console,
        ) as progress:
            task = progress.add_task(what, total=None)

            def update(detail: str, done: int = 0, total: int = 0) -> None:
                progress.update(
                    task, description=f"{what}: {detail}", completed=done, total=total or None
                )

            yield update
            ended = progress.tasks[task].total or 1
            progress.update(task, description=what, completed=ended, total=ended)


def show_comment(console: Console, where: str, author: str, body: str) -> None:
    """Print the comment as GitHub would render it, with opened folds and without hidden parts."""
    title = f"{author} commented on {where}"
    console.print(Panel(Markdown(strip_hidden_text(body)), title=title, title_align="left"))


def strip_hidden_text(body: str) -> str:
    """Remove the parts of a comment's Markdown that no reader sees (pure)."""
    seen = (
        _HIDDEN.sub("", body)
        .replace("> [!WARNING]", "> **Warning**  ")
        .replace("<summary>", "**▸ ")
        .replace("</summary>", "**\n")
    )
    return _FOLD.sub("", seen).strip()


def show_checks(console: Console, checks: Mapping[int, CheckFacts]) -> None:
    """Print the check runs of each pull request."""
    table = Table(title="Check runs", title_justify="left", show_edge=False)
    for heading in ("PR", "", "Check", "Title", "Commit"):
        table.add_column(heading)
    for number, check in sorted(checks.items()):
        sign = _CHECK_SIGNS.get(check.conclusion or "", "?")
        table.add_row(f"#{number}", sign, check.name, check.title or "", check.head_sha[:7])
    console.print(table)


def show_model_vote(console: Console, verdict: GroupVerdict) -> None:
    """Print what one vote of a language model says of each patch."""
    title = f"The same patches, judged by one vote of {verdict.engine.model}"
    table = Table(title=title, title_justify="left", show_edge=False)
    for heading in ("PR", "Verdict", "Why"):
        table.add_column(heading)
    for patch in verdict.patches:
        table.add_row(patch.id, patch.verdict.value, escape_invisible(patch.reason))
    console.print(Group("", table))


def show_outcomes(console: Console, rows: Sequence[OutcomeRow]) -> None:
    """Print the recorded outcomes."""
    table = Table(title="Recorded outcomes", title_justify="left", show_edge=False)
    for heading in ("PR", "Outcome", "What is known of why", "Actor", "Right then", "Commit"):
        table.add_column(heading)
    for row in rows:
        cells = (row.kind.value, row.reason or "", row.actor or "", row.permission or "?")
        table.add_row(f"#{row.pull}", *cells, (row.head_sha or "")[:7])
    console.print(Group("", table))
