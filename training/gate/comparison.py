"""Compare candidate and champion on the same groups, issue by issue (pure)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from app.learning.gate_rules import Rules
from model.errors import EngineError
from training.evaluation import metrics, significance
from training.evaluation.metrics import CONSTANTS, SHARES, GroupReplies
from training.gate.gate_facts import ChampionComparison


def compare_answered(
    name: str, pairs: Sequence[tuple[GroupReplies, GroupReplies]], rules: Rules
) -> ChampionComparison:
    """Compare both on the groups that both answered (pure).

    Raises EngineError when too many groups are unanswered.
    """
    both = [pair for pair in pairs if all(replies.rewards for replies in pair)]
    unanswered = len(pairs) - len(both)
    if unanswered > rules.most_unanswered * len(pairs):
        raise EngineError(
            f"{unanswered} of the {len(pairs)} groups of {name} were not answered by both, {rules.most_unanswered:.0%} "
            "is the most: nothing is decided; see the engine's log, and measure again"
        )
    return replace(compare_groups(name, both), unanswered=unanswered)


def compare_groups(
    name: str, pairs: Sequence[tuple[GroupReplies, GroupReplies]]
) -> ChampionComparison:
    """Compare candidate and champion on one set of answered groups (pure)."""
    candidate, champion = ([pair[index] for pair in pairs] for index in (0, 1))
    issue_rows = metrics.index_issues(candidate)
    candidate_statistics, champion_statistics = (
        metrics.build_statistics(candidate),
        metrics.build_statistics(champion),
    )
    right, before = (
        list(metrics.list_correct_issues(replies).values()) for replies in (candidate, champion)
    )
    only_candidate, only_champion = significance.count_discordant(right, before)
    return ChampionComparison(
        name=name,
        issues=len(issue_rows.groups),
        groups=len(candidate),
        patches=sum(len(heard.labelled_places) for heard in candidate),
        candidate=significance.bootstrap_estimates(candidate_statistics, issue_rows, shares=SHARES),
        champion=significance.bootstrap_estimates(champion_statistics, issue_rows, shares=SHARES),
        difference=significance.bootstrap_differences(
            candidate_statistics, champion_statistics, issue_rows
        ),
        constants={
            name: _measure_constant(candidate, belief) for name, belief in CONSTANTS.items()
        },
        only_candidate=only_candidate,
        only_champion=only_champion,
        p_worse=significance.compute_worse_p(only_candidate, only_champion),
        p_differs=significance.compute_mcnemar_p(only_candidate, only_champion),
    )


def _measure_constant(heard: Sequence[GroupReplies], belief: float) -> dict[str, float | None]:
    same = metrics.build_constant_judge(heard, belief)
    rows = [
        np.concatenate(item)
        for item in (metrics.index_issues(same).patches, metrics.index_issues(same).groups)
    ]
    values = {name: item(rows[0], rows[1]) for name, item in metrics.build_statistics(same).items()}
    return {name: None if np.isnan(value) else value for name, value in values.items()}
