"""Values that describe a report: text, tables and figures, before drawing or writing (pure)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure as Canvas

from model.evaluation.bootstrap import Estimate

Cell = str | int | float | Estimate | tuple["Cell", ...] | None
"""A value of a table. An estimate fills two cells of the page, a tuple the cells of its parts."""
TableRow = Sequence[Cell]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the report: a drawing with title, caption and alternative text."""

    name: str
    """File name without suffix."""
    title: str
    caption: str
    """States, among other things, the numbers of issues and patches."""
    alt: str
    draw: Callable[[], Canvas]
    """Draws the figure in matplotlib's current colours, because the page has a light and a dark version."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a header cell for each column."""

    caption: str
    head: Sequence[str]
    """Name of each column."""
    rows: Sequence[TableRow]
    """Values of each row, one for each name in `head`."""
    words: int = 1
    """How many of the first cells of each row are words; the others are numbers."""

    @property
    def columns(self) -> list[tuple[str, int]]:
        """(name, span) pairs: each column of the table, and how many cells of the page it spans."""
        spans = [
            max((len(format_cells(row[index])) for row in self.rows), default=1)
            for index in range(len(self.head))
        ]
        return list(zip(self.head, spans, strict=True))

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """The rows of the table, each with the text of every cell on the page."""
        return tuple(format_cells(tuple(row)) for row in self.rows)


@dataclass(frozen=True, slots=True)
class Gap:
    """A question of a report that the input cannot answer, and why."""

    reason: str
    """Why there is no answer; a whole sentence if `verifier` is empty."""
    verifier: str = ""
    """Label of the series that lacks the answer, or ""."""
    group_set: str = ""
    """Name of the group set that lacks the answer, or ""."""


Part = str | Figure | Table | Gap


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a report: one question and its answers."""

    key: str
    """Id of the section's heading in the HTML page."""
    title: str
    parts: Sequence[Part]
    """Paragraphs (each a `str`), figures, tables and gaps, in order."""

    @property
    def text(self) -> tuple[str, ...]:
        """The paragraphs among the parts of the section."""
        return tuple(part for part in self.parts if isinstance(part, str))

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures among the parts of the section."""
        return tuple(part for part in self.parts if isinstance(part, Figure))

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables among the parts of the section."""
        return tuple(part for part in self.parts if isinstance(part, Table))

    @property
    def missing(self) -> tuple[str, ...]:
        """Sentences that describe the section's gaps; gaps with the same reason share a sentence."""
        return tuple(_describe_gaps([part for part in self.parts if isinstance(part, Gap)]))


@dataclass(frozen=True, slots=True)
class Report:
    """The content of a report: the texts and sections of one page."""

    title: str
    text: Sequence[str]
    """Paragraphs before the first section."""
    notes: Sequence[str]
    """Problems with the input, such as an unfinished run."""
    sections: Sequence[Section]


def _describe_gaps(gaps: Sequence[Gap]) -> Iterator[str]:
    """Yield whole sentences first, then the reasons with all verifiers and sets that share them."""
    yield from (gap.reason for gap in gaps if not gap.verifier)
    where: dict[tuple[str, str], list[str]] = {}
    for gap in gaps:
        where.setdefault((gap.reason, gap.verifier), []).append(gap.group_set)
    whose: dict[tuple[str, str], list[str]] = {}
    for (reason, verifier), names in where.items():
        if verifier:
            whose.setdefault((reason, ", ".join(names)), []).append(verifier)
    for (reason, names_), verifiers in whose.items():
        yield f"{', '.join(verifiers)} on {names_}: {reason}"


def format_count(count: int, what: str) -> str:
    """Format a count with a noun: `1 issue`, `1,020 patches`. `what` is the noun in the singular."""
    plural = f"{what}es" if what.endswith("ch") else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"


def format_size(issues: int, groups: int, patches: int) -> str:
    """Format the numbers of issues, groups and patches: `1 issue, 2 groups, 8 patches`."""
    counts = (format_count(issues, "issue"), format_count(groups, "group"))
    return ", ".join((*counts, format_count(patches, "patch")))


def format_number(value: float | None) -> str:
    """Format a number with three decimals, as `r4p evaluate` does; None becomes a dash."""
    return "–" if value is None else f"{round(value, 3) + 0.0:.3f}"


def format_cells(cell: Cell) -> tuple[str, ...]:
    """Format a value of a table as the texts of its cells on the page.

    An estimate gives two texts: its value, and its interval or a dash. A tuple gives the texts of its parts.
    """
    match cell:
        case str() | int():
            return (str(cell),)
        case tuple():
            return tuple(text for part in cell for text in format_cells(part))
        case Estimate(value, low, high) if low is not None and high is not None:
            return format_number(value), f"{format_number(low)} … {format_number(high)}"
        case Estimate(value):
            return format_number(value), "–"
    return (format_number(cell),)


def format_estimate(estimate: Estimate) -> str:
    """Format an estimate for a sentence: `0.700 (0.600 … 0.800)`, without brackets if it has no interval."""
    value, interval = format_cells(estimate)
    return value if interval == "–" else f"{value} ({interval})"


def list_estimates(named: Iterable[tuple[str, Estimate]]) -> str:
    """Format (name, estimate) pairs for a sentence, separated by semicolons."""
    return "; ".join(f"{name} {format_estimate(estimate)}" for name, estimate in named)
