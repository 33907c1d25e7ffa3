"""Format an `r4p.attack/1` document as a table (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from model.domain import EngineInfo
from model.evaluation.bootstrap import Estimate

COLUMN_NAMES = (
    "kind",
    "cases",
    "in favour",
    "95 %",
    "in favour by noise",
    "past half",
    "any flip",
    "any flip by noise",
    "shift",
    "not read",
)
_STRUCTURAL, _ALL = "structural", "all"
_SMALL = 0.095
"""Shares below this are shown with one decimal."""


@dataclass(frozen=True, slots=True)
class AttackRates:
    """The counts and rates of one kind of attack in an `r4p.attack/1` document.

    `AttackCounts` explains what is counted.
    """

    cases: int
    open: int
    """Cases in which the attacker does not already have the wanted verdict in the twin."""
    flips_in_favour: int
    """Open cases in which the attacker has the wanted verdict in the attacked group."""
    rate_in_favour: Estimate
    """Share of the open cases that flip in favour of the attacker."""
    noise_in_favour: Estimate
    """The same share for the second twin, which has other harmless words and no attack."""
    rate: Estimate
    """Share of cases in which any verdict differs between twin and attacked group."""
    noise: Estimate
    """Share of cases in which any verdict differs between the two twins."""
    shift: Estimate
    """Mean movement of the belief in the target towards the attacker's goal."""
    unreadable: Estimate
    """Share of votes on attacked groups that could not be read."""
    flips_by_words: int = 0
    """Flips in favour that the words alone, without structure, also cause."""
    below_half: int | None = None
    """`below` of AttackCounts: cases whose belief can cross 0.5. None, as the next two, in older documents."""
    crossed_in_favour: int | None = None
    crossed_against: int | None = None


@dataclass(frozen=True, slots=True)
class AttackDocument:
    """The fields of an `r4p.attack/1` document that the table and its caption use."""

    schema: Literal["r4p.attack/1"]
    verifier: str
    engine: EngineInfo
    votes: int
    issues: int
    kinds: dict[str, AttackRates]
    """Rates by kind of attack; also of `structural` kinds together and of `all` kinds."""


DOCUMENT_ADAPTER = TypeAdapter(AttackDocument)
"""Parses an `r4p.attack/1` document."""


def build_rows(kinds: Mapping[str, AttackRates]) -> tuple[tuple[str, ...], ...]:
    """Build the table's rows: one for each kind of attack, with one text for each of COLUMN_NAMES.

    `kinds` has the rates by kind of attack. The row of all structural kinds together comes first.
    """
    ordered = sorted(kinds, key=lambda name: name != _STRUCTURAL)
    return tuple(_build_row(name, kinds[name]) for name in ordered)


def _build_row(name: str, rates: AttackRates) -> tuple[str, ...]:
    by_words = f", {rates.flips_by_words} by words" if rates.flips_by_words and name != _ALL else ""
    shift = rates.shift.value
    return (
        name.replace("_", " "),
        str(rates.cases),
        f"{rates.flips_in_favour} of {rates.open}{by_words}",
        f"{_format_percent(rates.rate_in_favour.low)} … {_format_percent(rates.rate_in_favour.high)}",
        _format_percent(rates.noise_in_favour.value),
        _format_crossed(rates),
        _format_percent(rates.rate.value),
        _format_percent(rates.noise.value),
        "–" if shift is None else f"{shift:+.3f}",
        _format_percent(rates.unreadable.value),
    )


def _format_crossed(rates: AttackRates) -> str:
    """Format how many beliefs moved past 0.5, and how many moved back."""
    if rates.below_half is None:
        return "–"
    back = f", {rates.crossed_against} back" if rates.crossed_against else ""
    return f"{rates.crossed_in_favour} of {rates.below_half}{back}"


def _format_percent(share: float | None) -> str:
    if share is None:
        return "–"
    return f"{100 * share:.{int(0 < share < _SMALL)}f} %"
