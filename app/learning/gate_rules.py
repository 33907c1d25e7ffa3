"""Rules of the gate, their comparison with older rules, and the list of decisions about a model (pure)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rules:
    """Conditions of the gate for the promotion of a trained model. They are fixed before a run is measured."""

    margin: float = 0.02
    """Share, 0 to 1, by which the candidate may be worse and still counts as no worse."""
    least_issues: int = 30
    """Fewest issues with which a set decides anything."""
    least_format_valid: float = 0.9
    """Smallest share of the candidate's replies that must be readable."""
    most_unanswered: float = 0.1
    """Largest share of a set's groups that one of the two models left unanswered. Above it the set measures nothing."""
    least_entropy: float = 0.001
    """Smallest entropy of the sampled tokens at the training's end, in nats. Below it replies hardly differ."""
    most_clipped: float = 0.5
    """Largest share of tokens at the training's end whose importance ratio was clipped."""
    must_improve: bool = True
    """The primary metric of the candidate must be above the champion's."""
    must_be_better: bool = False
    """The whole confidence interval of the primary metric's difference from the champion must be above 0.

    Use it for a set of all issues, not for the issues of one week.
    """
    alpha: float = 0.05
    """Significance level of McNemar's exact one-sided test against the candidate."""


_OF_A_DECISION = ("outcome", "why", "by_outcomes", "rules", "measured")
"""Fields of a gate.json that remain when a newer decision replaces it."""
_LOWER_ASKS_MORE = frozenset({"margin", "most_unanswered", "most_clipped"})
"""Rules whose lower value is stricter. For all other rules the higher value is stricter."""


def find_weaker_rules(decided_by: Any, in_force: Rules) -> tuple[str, ...]:
    """List the gate rules of an earlier decision that are weaker than `in_force`, each as a phrase with both values.

    `decided_by` is the field `rules` of a gate.json. A rule that is missing there counts as weaker.
    """
    rules = decided_by if isinstance(decided_by, Mapping) else {}
    return tuple(
        f"{name} {rules.get(name)} instead of {least}"
        for name, least in asdict(in_force).items()
        if not _is_as_strict(name, rules.get(name), least)
    )


def list_decisions(gate: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List every decision in a model's gate.json, oldest first, each with its result, reason and rules."""
    return [*(gate.get("earlier") or ()), {name: gate.get(name) for name in _OF_A_DECISION}]


def add_earlier_decisions(gate: Mapping[str, Any], kept: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `gate`, the content of a gate.json, with the decisions that only `kept` has added as earlier ones.

    `kept` is the database's gate.json of the same model. Somebody may have deleted the file and its decisions.
    """
    decisions = list_decisions(gate)
    missing = [decision for decision in list_decisions(kept) if decision not in decisions]
    return {**gate, "earlier": [*missing, *decisions[:-1]]}


def _is_as_strict(name: str, value: Any, least: float) -> bool:
    if not isinstance(value, int | float):
        return False
    return value <= least if name in _LOWER_ASKS_MORE else value >= least
