"""What candidate and champion said of the same groups, compared issue by issue (pure)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from app.learning.gate_rules import Rules
from model.errors import EngineError
from training.evaluation import metrics, significance
from training.evaluation.metrics import CONSTANTS, SHARES, Heard
from training.gate.gate_facts import Compared


def answered(name: str, pairs: Sequence[tuple[Heard, Heard]], rules: Rules) -> Compared:
    """The comparison on what both answered (pure). Raises EngineError where that is too little to stand for the set."""
    both = [pair for pair in pairs if all(one.rewards for one in pair)]
    unanswered = len(pairs) - len(both)
    if unanswered > rules.most_unanswered * len(pairs):
        raise EngineError(
            f"{unanswered} of the {len(pairs)} groups of {name} were not answered by both, {rules.most_unanswered:.0%} "
            "is the most: nothing is decided; see the engine's log, and measure again"
        )
    return replace(comparison(name, both), unanswered=unanswered)


def comparison(name: str, pairs: Sequence[tuple[Heard, Heard]]) -> Compared:
    """Candidate and champion on one set of groups, both of which answered (pure)."""
    candidate, champion = ([pair[at] for pair in pairs] for at in (0, 1))
    by = metrics.issues(candidate)
    one, other = metrics.statistics(candidate), metrics.statistics(champion)
    right, before = (list(metrics.decided_rightly(of).values()) for of in (candidate, champion))
    only_candidate, only_champion = significance.discordant(right, before)
    return Compared(
        name=name,
        issues=len(by.groups),
        groups=len(candidate),
        patches=sum(len(heard.known) for heard in candidate),
        candidate=significance.estimates(one, by, shares=SHARES),
        champion=significance.estimates(other, by, shares=SHARES),
        difference=significance.differences(one, other, by),
        constants={who: _constant(candidate, belief) for who, belief in CONSTANTS.items()},
        only_candidate=only_candidate,
        only_champion=only_champion,
        p_worse=significance.worse(only_candidate, only_champion),
        p_differs=significance.mcnemar(only_candidate, only_champion),
    )


def _constant(heard: Sequence[Heard], belief: float) -> dict[str, float | None]:
    same = metrics.constant(heard, belief)
    rows = [
        np.concatenate(one) for one in (metrics.issues(same).patches, metrics.issues(same).groups)
    ]
    found = {name: one(rows[0], rows[1]) for name, one in metrics.statistics(same).items()}
    return {name: None if np.isnan(value) else value for name, value in found.items()}
