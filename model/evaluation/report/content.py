"""What a report consists of, before anybody draws or writes it (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from model.evaluation.bootstrap import Estimate

GREY = -1
"""The colour of what is no verifier: constants and references."""


class Scale(Enum):
    """What an axis of values holds."""

    SHARE = "share"
    """All of 0…1, so that figures beside each other can be compared."""
    PART = "part"
    """A share that stays small: from 0 to the largest, or to 1 % where none reaches that."""
    DIFFERENCE = "difference"
    """Of shares, in percentage points."""
    SECONDS = "seconds"
    """Logarithmic."""
    NUMBER = "number"
    """Whatever it is, as matplotlib shows it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A dot with its interval."""

    colour: int
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Row:
    """A line of dots, one for each verifier."""

    label: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """A reference across a panel."""

    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Panel:
    """Rows over one axis."""

    title: str
    rows: tuple[Row, ...]
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Dots:
    """Panels below each other."""

    panels: tuple[Panel, ...]
    legend: tuple[tuple[int, str], ...] = ()
    """Colour and name, where rows hold several dots."""
    scale: Scale = Scale.SHARE


@dataclass(frozen=True, slots=True)
class Curve:
    """Estimates over the x axis; a grey one is a reference."""

    label: str
    colour: int
    points: tuple[tuple[float, Estimate], ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves in one panel."""

    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    ticks: tuple[str, ...] = ()
    """Names of x = 0, 1, 2 …; none where x is a number."""
    diagonal: bool = False
    """Draws x = y, over 0…1."""
    level: float | None = None
    """A horizontal reference."""
    scale: Scale = Scale.SHARE


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its words."""

    name: str
    """Of the file, without its ending."""
    title: str
    caption: str
    """Among other things, of how many issues and patches it is."""
    alt: str
    drawing: Dots | Curves


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text; `head` has each column's name and how many cells it spans."""

    caption: str
    head: tuple[tuple[str, int], ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    """How many of the first cells of a row are words; numbers follow."""


@dataclass(frozen=True, slots=True)
class Section:
    """One question, with its answers; `missing` says what the run files can't answer, and why."""

    key: str
    title: str
    text: tuple[str, ...]
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """A page: where it comes from, and its sections."""

    title: str
    text: tuple[str, ...]
    notes: tuple[str, ...]
    """What is wrong with the run files, or unfinished."""
    sections: tuple[Section, ...]


def many(count: int, what: str) -> str:
    """`1 issue`, `1,020 patches`."""
    plural = f"{what}es" if what.endswith("ch") else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"


def number(value: float | None) -> str:
    """Three decimals, as `r4p evaluate` prints them; a dash for what is not defined."""
    return "–" if value is None else f"{round(value, 3) + 0.0:.3f}"


def cells(estimate: Estimate) -> tuple[str, str]:
    """A value and its interval."""
    if estimate.low is None or estimate.high is None:
        return number(estimate.value), "–"
    return number(estimate.value), f"{number(estimate.low)} … {number(estimate.high)}"


def said(estimate: Estimate) -> str:
    """The same as words in a sentence."""
    value, interval = cells(estimate)
    return value if interval == "–" else f"{value} ({interval})"


def head(first: Iterable[str], estimates: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Columns of text, then estimates with their intervals."""
    return (*((name, 1) for name in first), *((name, 2) for name in estimates))
