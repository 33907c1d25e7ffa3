"""Metrics to compare two verifiers on labelled groups (pure).

Labels may be probabilities; a decision is then as right as it is likely. Patches without a label are ignored.
The metrics are those of `r4p evaluate` and the training reward.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from model.evaluation import metrics
from model.evaluation.bootstrap import IssueRows, collect_rows
from model.evaluation.judgement_columns import (
    Floats,
    JudgementColumns,
    decide_acceptance,
    default_to_half,
    score_decisions,
    to_array,
)
from model.evaluation.metrics import Metric
from training.datasets.groups import LabelSource, TrainingGroup
from training.evaluation.significance import Statistic

REWARD = "reward"


def compute_false_accept_rate(columns: JudgementColumns) -> float:
    """Compute the share of incorrect patches that are accepted; NaN without incorrect patches.

    Where labels are probabilities, each patch counts with the probability that it is incorrect.
    """
    wrong = 1 - columns.label
    return (
        float((decide_acceptance(columns.belief) * wrong).sum() / wrong.sum())
        if wrong.any()
        else np.nan
    )


METRICS: Mapping[str, Metric] = {
    "accuracy": metrics.compute_accuracy,
    "balanced_accuracy": metrics.compute_balanced_accuracy,
    "mcc": metrics.compute_mcc,
    "exact_match": metrics.compute_exact_match,
    "best_of_group": metrics.compute_best_of_group,
    "false_accepts": compute_false_accept_rate,
    "brier": metrics.compute_brier,
    "format_valid": metrics.compute_valid_rate,
}
"""Metrics that are defined for probabilities as labels."""
SHARES = frozenset(
    {REWARD, "accuracy", "exact_match", "best_of_group", "false_accepts", "format_valid"}
)
"""Metrics that are shares."""
LOWER_IS_BETTER = frozenset({"brier", "false_accepts"})
CONSTANTS: Mapping[str, float] = {"all_correct": 1.0, "all_incorrect": 0.0}
"""Constant judges by name, with their belief. A model that does not beat them has learnt nothing."""


@dataclass(frozen=True, slots=True)
class GroupReplies:
    """A training group with a verifier's beliefs in its patches and the rewards of its replies."""

    group: TrainingGroup
    beliefs: tuple[float | None, ...]
    """Belief in each patch, from 0 to 1; None without an opinion."""
    rewards: tuple[float, ...]
    """Training reward of each reply; 0 for an unreadable one. Failed requests are left out."""
    asked: int
    """Votes requested, without failed requests."""
    valid: int
    """Votes that were readable as written."""

    @property
    def places_with_label(self) -> tuple[int, ...]:
        """The seats of the group's patches that have a label, counted from 0."""
        return tuple(index for index, target in enumerate(self.group.targets) if target is not None)


def split_by_source(groups: Sequence[TrainingGroup]) -> dict[LabelSource, list[TrainingGroup]]:
    """Return the groups by the source of their labels, without groups in which no patch has a label."""
    by_source: dict[LabelSource, list[TrainingGroup]] = {}
    for group in groups:
        if any(target is not None for target in group.targets):
            by_source.setdefault(group.source, []).append(group)
    return by_source


def index_issues(all_replies: Sequence[GroupReplies]) -> IssueRows:
    """Return, for each issue, the row numbers of its labelled patches and of its groups.

    The functions of `build_statistics(all_replies)` take these row numbers.
    """
    return collect_rows(
        (replies.group.issue, len(replies.places_with_label)) for replies in all_replies
    )


def build_statistics(all_replies: Sequence[GroupReplies]) -> dict[str, Statistic]:
    """Build a function for each metric of METRICS and for REWARD, by name, for resampling.

    A function takes row numbers of labelled patches and of groups, and returns the metric of these rows.
    """
    columns = _build_columns(all_replies)
    rewards = to_array([_compute_mean(replies.rewards) for replies in all_replies])
    statistics = {name: _apply_to_rows(columns, metric) for name, metric in METRICS.items()}
    return {REWARD: lambda _patches, groups: _compute_mean(rewards[groups]), **statistics}


def build_constant_judge(all_replies: Sequence[GroupReplies], belief: float) -> list[GroupReplies]:
    """Build the replies that a judge with the same `belief` in every patch would give, as a baseline.

    `all_replies` gives the groups. Each result has one reply, with the reward of that belief.
    """
    constant_replies = []
    for replies in all_replies:
        right = [
            _score_decision(belief, target)
            for target in replies.group.targets
            if target is not None
        ]
        beliefs = (belief,) * len(replies.group.patches)
        constant_replies.append(
            replace(replies, beliefs=beliefs, rewards=(_compute_mean(right),), asked=1, valid=1)
        )
    return constant_replies


def list_correct_issues(all_replies: Sequence[GroupReplies]) -> dict[str, bool]:
    """Return, for each issue, whether a verifier decides every labelled patch of its first group right.

    The first group is the one with the lowest key. A missing belief and a belief of 0.5 are not right.
    """
    first: dict[str, GroupReplies] = {}
    for replies in sorted(all_replies, key=lambda replies: replies.group.key):
        first.setdefault(replies.group.issue, replies)
    return {issue: _is_right(replies) for issue, replies in sorted(first.items())}


def _is_right(replies: GroupReplies) -> bool:
    pairs = [
        (replies.beliefs[index], replies.group.targets[index])
        for index in replies.places_with_label
    ]
    return all(
        belief is not None and target is not None and (belief - 0.5) * (target - 0.5) > 0
        for belief, target in pairs
    )


def _apply_to_rows(columns: JudgementColumns, metric: Metric) -> Statistic:
    return lambda patches, groups: metric(columns.take(patches, groups))


def _build_columns(all_replies: Sequence[GroupReplies]) -> JudgementColumns:
    beliefs = [
        to_array([default_to_half(replies.beliefs[index]) for index in replies.places_with_label])
        for replies in all_replies
    ]
    labels = [
        to_array([replies.group.targets[index] or 0.0 for index in replies.places_with_label])
        for replies in all_replies
    ]
    pairs = list(zip(beliefs, labels, strict=True))
    belief = np.concatenate([*beliefs, to_array([])])

    def compute_per_group(compute: Callable[[Floats, Floats], float]) -> Floats:
        return to_array([compute(*pair) for pair in pairs])

    return JudgementColumns(
        belief=belief,
        has_belief=to_array(
            [
                replies.beliefs[index] is not None
                for replies in all_replies
                for index in replies.places_with_label
            ]
        ),
        label=np.concatenate([*labels, to_array([])]),
        claim=np.full(len(belief), np.nan),
        exact=compute_per_group(
            lambda beliefs, true: float(np.prod(score_decisions(beliefs, true)))
        ),
        best=compute_per_group(_score_best),
        base=compute_per_group(lambda _said, true: float(true.mean())),
        any_correct=compute_per_group(lambda _said, true: float(true.max())),
        asked=to_array([replies.asked for replies in all_replies]),
        valid=to_array([replies.valid for replies in all_replies]),
        forced=np.zeros(len(all_replies)),
    )


def _score_best(beliefs: Floats, true: Floats) -> float:
    """Average the labels of the patches with the highest belief."""
    return float(true[beliefs == beliefs.max()].mean())


def _score_decision(belief: float, target: float) -> float:
    return 1 - abs(belief - target)


def _compute_mean(values: Sequence[float] | Floats) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
