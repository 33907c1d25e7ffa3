"""Values that describe a report: text, tables and figures, before drawing or writing (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from model.evaluation.bootstrap import Estimate

GREY = -1
"""Colour index of constants and references."""


class Scale(Enum):
    """The scale of the axis that shows a plot's values."""

    SHARE = "share"
    """The whole range 0 to 1, so that figures beside each other can be compared."""
    PART = "part"
    """A small share: from 0 to the largest value, and at least to 1 %."""
    DIFFERENCE = "difference"
    """A difference of shares, in percentage points."""
    SECONDS = "seconds"
    """Seconds on a logarithmic axis."""
    NUMBER = "number"
    """Any number, with matplotlib's default format."""


@dataclass(frozen=True, slots=True)
class PlotPoint:
    """A point of a plot: an estimate with its interval, in one colour."""

    colour: int
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class PlotRow:
    """A labelled row of a plot, with one point per series."""

    label: str
    marks: tuple[PlotPoint, ...]


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A reference value, drawn across a panel."""

    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of a dot plot: labelled rows over one axis of values."""

    title: str
    rows: tuple[PlotRow, ...]
    lines: tuple[ReferenceLine, ...] = ()


@dataclass(frozen=True, slots=True)
class DotPlot:
    """A plot of estimates as points with intervals, in panels below each other."""

    panels: tuple[Panel, ...]
    legend: tuple[tuple[int, str], ...] = ()
    """Colour and name, for rows with several points."""
    scale: Scale = Scale.SHARE


@dataclass(frozen=True, slots=True)
class Curve:
    """One curve of a plot: estimates over the x axis. A grey curve is a reference."""

    label: str
    colour: int
    points: tuple[tuple[float, Estimate], ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """A plot of several curves in one panel."""

    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    ticks: tuple[str, ...] = ()
    """Names of x = 0, 1, 2, …; empty where x is a number."""
    diagonal: bool = False
    """Draw x = y over 0 to 1."""
    level: float | None = None
    """Height of a horizontal reference line."""
    scale: Scale = Scale.SHARE


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the report: a drawing with title, caption and alternative text."""

    name: str
    """File name without suffix."""
    title: str
    caption: str
    """States, among other things, the numbers of issues and patches."""
    alt: str
    drawing: DotPlot | Curves


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text cells. `head` has each column's name and the number of cells it spans."""

    caption: str
    head: tuple[tuple[str, int], ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    """How many of the first cells of a row are words; the others are numbers."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report: one question and its answers. `missing` explains what the input cannot answer."""

    key: str
    title: str
    text: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """The content of an evaluation report: one page with its sections."""

    title: str
    text: tuple[str, ...]
    notes: tuple[str, ...]
    """Problems with the input, such as an unfinished run."""
    sections: tuple[Section, ...]


def format_count(count: int, what: str) -> str:
    """Format a count with its noun: `1 issue`, `1,020 patches`."""
    plural = f"{what}es" if what.endswith("ch") else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"


def format_number(value: float | None) -> str:
    """Format a value with three decimals, as `r4p evaluate` does; a dash for None."""
    return "–" if value is None else f"{round(value, 3) + 0.0:.3f}"


def format_cells(estimate: Estimate) -> tuple[str, str]:
    """Format an estimate as two cells: value and interval."""
    if estimate.low is None or estimate.high is None:
        return format_number(estimate.value), "–"
    return format_number(
        estimate.value
    ), f"{format_number(estimate.low)} … {format_number(estimate.high)}"


def format_estimate(estimate: Estimate) -> str:
    """Format an estimate for a sentence: value, and interval in brackets."""
    value, interval = format_cells(estimate)
    return value if interval == "–" else f"{value} ({interval})"


def build_head(first: Iterable[str], estimates: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Build the columns of a table: text columns, then estimates of two cells each."""
    return (*((name, 1) for name in first), *((name, 2) for name in estimates))
