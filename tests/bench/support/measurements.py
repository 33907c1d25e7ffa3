"""What was measured, what was asked, and whether it holds (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median


@dataclass(frozen=True, slots=True)
class Bound:
    """What is asked of a value."""

    limit: float
    is_least: bool

    def holds(self, value: float) -> bool:
        """Whether a value is good enough."""
        return value >= self.limit if self.is_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.is_least else '≤'} {self.limit:g}"


def at_least(limit: float) -> Bound:
    """More is better."""
    return Bound(limit, is_least=True)


def at_most(limit: float) -> Bound:
    """Less is better."""
    return Bound(limit, is_least=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: ours, in as many runs as were made, and what ran beside it."""

    id: str
    what: str
    unit: str
    ours: tuple[float, ...]
    anchor: str = ""
    """What it is compared with; empty: nothing."""
    beside: tuple[float, ...] = ()
    """The anchor's runs, each made right before or after ours of the same place."""
    ratio_asked: Bound | None = None
    asked: Bound | None = None
    """Of ours itself, in its unit."""
    note: str = ""
    load: float = 0.0
    """The machine's load average of one minute when the figure's subject began."""

    @property
    def value(self) -> float:
        """The median of our runs."""
        return median(self.ours)

    @property
    def ratio(self) -> float | None:
        """The median of ours to the anchor's, pair by pair; None: nothing ran beside."""
        pairs = [a / b for a, b in zip(self.ours, self.beside, strict=True)] if self.beside else []
        return median(pairs) if pairs else None

    @property
    def holds(self) -> bool | None:
        """Whether everything asked holds; None: nothing was asked, or the anchor didn't run."""
        ratio = self.ratio
        answers = [self.asked.holds(self.value)] if self.asked else []
        if self.ratio_asked and ratio is not None:
            answers.append(self.ratio_asked.holds(ratio))
        return all(answers) if answers else None


@dataclass(slots=True)
class Pairs:
    """Runs of ours and of an anchor, in turn."""

    ours: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)

    def add(self, bot: float, beside: float) -> None:
        """One more pair."""
        self.ours.append(bot)
        self.beside.append(beside)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of them doesn't exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * share - 1e-9) - 1)]


def format_rounded(value: float) -> str:
    """Three significant digits, for people."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
