"""By which rules the gate decides, whether those of a decision ask less than those in force, and what it decided before (pure)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rules:
    """Fixed before a run is looked at."""

    margin: float = 0.02
    """By how much the candidate may be worse and still count as no worse; shares, 0 to 1."""
    least_issues: int = 30
    """Of a set, for it to decide anything."""
    least_format_valid: float = 0.9
    """Share of the candidate's replies that can be read."""
    most_unanswered: float = 0.1
    """Share of a set's groups that one of the two gave no answer to; above it nothing was measured."""
    least_entropy: float = 0.001
    """Of the sampled tokens at the end, in nats: below that the model says one thing only."""
    most_clipped: float = 0.5
    """Share of tokens at the end whose ratio was clipped."""
    must_improve: bool = True
    """The difference of the primary metric has to be above 0."""
    must_be_better: bool = False
    """Its whole interval has to be: for the set of all issues ever, not for a week's."""
    alpha: float = 0.05
    """Of McNemar's exact one-sided test against the candidate."""


_OF_A_DECISION = ("outcome", "why", "by_outcomes", "rules", "measured")
"""What stays of it when another one takes its place."""
_LOWER_ASKS_MORE = frozenset({"margin", "most_unanswered", "most_clipped"})
"""Of all other rules the higher value does, and of truths the true one."""


def laxer(decided_by: Any, in_force: Rules) -> tuple[str, ...]:
    """Which rules of a decision ask less than those in force, each in words; a rule that it does not name asks nothing.

    `decided_by`: the rules as a gate.json has them.
    """
    said = decided_by if isinstance(decided_by, Mapping) else {}
    return tuple(
        f"{name} {said.get(name)} instead of {least}"
        for name, least in asdict(in_force).items()
        if not _asks_as_much(name, said.get(name), least)
    )


def decisions(gate: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Every decision that a gate.json tells of: the earlier ones, the first one first, then its own."""
    return [*(gate.get("earlier") or ()), {name: gate.get(name) for name in _OF_A_DECISION}]


def with_earlier(gate: Mapping[str, Any], kept: Mapping[str, Any]) -> Mapping[str, Any]:
    """A gate that also tells of the decisions which were kept of the same model, for files can be deleted."""
    told = decisions(gate)
    forgotten = [one for one in decisions(kept) if one not in told]
    return {**gate, "earlier": [*forgotten, *told[:-1]]}


def _asks_as_much(name: str, value: Any, least: float) -> bool:
    if not isinstance(value, int | float):
        return False
    return value <= least if name in _LOWER_ASKS_MORE else value >= least
