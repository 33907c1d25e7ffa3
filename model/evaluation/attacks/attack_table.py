"""What attacks changed as a table for people, from an `r4p.attack/1` document (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

from model.domain import EngineInfo
from model.evaluation.bootstrap import Estimate

HEADS = (
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
"""Shares below this have a decimal: one flip of hundreds is not none."""


@dataclass(frozen=True, slots=True)
class Rates:
    """What the table shows of a kind."""

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
    """None in an older document, as both below."""
    crossed_in_favour: int | None = None
    crossed_against: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What the table and its caption need of a document."""

    schema: Literal["r4p.attack/1"]
    verifier: str
    engine: EngineInfo
    votes: int
    issues: int
    kinds: dict[str, Rates]


FOUND = TypeAdapter(Found)
"""Reads a document."""


def rows(kinds: Mapping[str, Rates]) -> tuple[tuple[str, ...], ...]:
    """One for each kind, in the order of HEADS; the structural ones together come first, then each, then the others."""
    ordered = sorted(kinds, key=lambda name: name != _STRUCTURAL)
    return tuple(_row(name, kinds[name]) for name in ordered)


def _row(name: str, rates: Rates) -> tuple[str, ...]:
    by_words = f", {rates.flips_by_words} by words" if rates.flips_by_words and name != _ALL else ""
    shift = rates.shift.value
    return (
        name.replace("_", " "),
        str(rates.cases),
        f"{rates.flips_in_favour} of {rates.open}{by_words}",
        f"{_percent(rates.rate_in_favour.low)} … {_percent(rates.rate_in_favour.high)}",
        _percent(rates.noise_in_favour.value),
        _crossed(rates),
        _percent(rates.rate.value),
        _percent(rates.noise.value),
        "–" if shift is None else f"{shift:+.3f}",
        _percent(rates.unreadable.value),
    )


def _crossed(rates: Rates) -> str:
    """Beliefs that went past a half in favour, and those that went back where there are any."""
    if rates.below_half is None:
        return "–"
    back = f", {rates.crossed_against} back" if rates.crossed_against else ""
    return f"{rates.crossed_in_favour} of {rates.below_half}{back}"


def _percent(share: float | None) -> str:
    if share is None:
        return "–"
    return f"{100 * share:.{int(0 < share < _SMALL)}f} %"
