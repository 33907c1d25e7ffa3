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
    """The rates of one kind of attack, as the table shows them."""

    cases: int
    open: int
    flips_in_favour: int
    rate_in_favour: Estimate
    noise_in_favour: Estimate
    rate: Estimate
    noise: Estimate
    shift: Estimate
    unreadable: Estimate
    flips_by_words: int = 0
    below_half: int | None = None
    """None in documents of older versions, like the next two fields."""
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


DOCUMENT_ADAPTER = TypeAdapter(AttackDocument)
"""Parses an `r4p.attack/1` document."""


def build_rows(kinds: Mapping[str, AttackRates]) -> tuple[tuple[str, ...], ...]:
    """Build one table row per kind of attack, in the order of COLUMN_NAMES.

    All structural kinds together come first.
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
