"""What a verifier said of labelled groups, as numbers that two of them are compared by (pure).

Labels may be probabilities: a decision is then as right as it is likely to be. A patch that nobody knows about
counts nowhere. Metrics are those of `r4p evaluate`; beside them stands the reward that was trained for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from model.evaluation import metrics
from model.evaluation.bootstrap import Issues
from model.evaluation.judgement_columns import Columns, Floats, accepted, array, or_half, rightness
from model.evaluation.metrics import Metric
from training.datasets.groups import LabelSource, TrainingGroup
from training.evaluation.significance import Statistic

REWARD = "reward"


def false_accepts(of: Columns) -> float:
    """Share of incorrect patches that are held to be correct: the mistake that costs most. NaN without any."""
    wrong = 1 - of.label
    return float((accepted(of.belief) * wrong).sum() / wrong.sum()) if wrong.any() else np.nan


METRICS: Mapping[str, Metric] = {
    "accuracy": metrics.accuracy,
    "balanced_accuracy": metrics.balanced_accuracy,
    "mcc": metrics.mcc,
    "exact_match": metrics.exact_match,
    "best_of_group": metrics.best_of_group,
    "false_accepts": false_accepts,
    "brier": metrics.brier,
    "format_valid": metrics.format_valid,
}
"""Those that hold for labels which are probabilities."""
SHARES = frozenset(
    {REWARD, "accuracy", "exact_match", "best_of_group", "false_accepts", "format_valid"}
)
"""How often something is so."""
LOWER_IS_BETTER = frozenset({"brier", "false_accepts"})
CONSTANTS: Mapping[str, float] = {"all_correct": 1.0, "all_incorrect": 0.0}
"""Who says the same of every patch: nothing is learnt while these are not beaten."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A group, and what a verifier said of it."""

    group: TrainingGroup
    beliefs: tuple[float | None, ...]
    """How much each patch is held to be correct, 0 to 1; None: no opinion."""
    rewards: tuple[float, ...]
    """Of each reply as it would be trained on; one that can't be read is worth 0. Requests that failed are left out."""
    asked: int
    """Votes asked for."""
    valid: int
    """Votes that could be read as they were written."""

    @property
    def known(self) -> tuple[int, ...]:
        """The places of patches that something is known of."""
        return tuple(at for at, one in enumerate(self.group.targets) if one is not None)


def by_source(groups: Sequence[TrainingGroup]) -> dict[LabelSource, list[TrainingGroup]]:
    """Groups apart by who labelled them, less those with no known label; the two are never pooled."""
    found: dict[LabelSource, list[TrainingGroup]] = {}
    for group in groups:
        if any(one is not None for one in group.targets):
            found.setdefault(group.source, []).append(group)
    return found


def issues(heard: Sequence[Heard]) -> Issues:
    """The rows of each issue, in the order of `statistics`."""
    patches: dict[str, list[int]] = {}
    groups: dict[str, list[int]] = {}
    row = 0
    for number, one in enumerate(heard):
        groups.setdefault(one.group.issue, []).append(number)
        patches.setdefault(one.group.issue, []).extend(range(row, row + len(one.known)))
        row += len(one.known)
    return Issues(
        tuple(np.asarray(rows, dtype=np.intp) for rows in patches.values()),
        tuple(np.asarray(rows, dtype=np.intp) for rows in groups.values()),
    )


def statistics(heard: Sequence[Heard]) -> dict[str, Statistic]:
    """Every metric of what was said, and the reward, each as a number of chosen rows."""
    columns = _columns(heard)
    rewards = array([_mean(one.rewards) for one in heard])
    found = {name: _on(columns, metric) for name, metric in METRICS.items()}
    return {REWARD: lambda _patches, groups: _mean(rewards[groups]), **found}


def constant(heard: Sequence[Heard], belief: float) -> list[Heard]:
    """The same groups as somebody would judge them who says the same of every patch."""
    said = []
    for one in heard:
        right = [_rightness(belief, target) for target in one.group.targets if target is not None]
        beliefs = (belief,) * len(one.group.patches)
        said.append(replace(one, beliefs=beliefs, rewards=(_mean(right),), asked=1, valid=1))
    return said


def decided_rightly(heard: Sequence[Heard]) -> dict[str, bool]:
    """One decision an issue: whether every patch of its first group, by key, is decided as it most likely is."""
    first: dict[str, Heard] = {}
    for one in sorted(heard, key=lambda one: one.group.key):
        first.setdefault(one.group.issue, one)
    return {issue: _is_right(one) for issue, one in sorted(first.items())}


def _is_right(one: Heard) -> bool:
    pairs = [(one.beliefs[at], one.group.targets[at]) for at in one.known]
    return all(
        belief is not None and target is not None and (belief - 0.5) * (target - 0.5) > 0
        for belief, target in pairs
    )


def _on(columns: Columns, metric: Metric) -> Statistic:
    return lambda patches, groups: metric(columns.take(patches, groups))


def _columns(heard: Sequence[Heard]) -> Columns:
    beliefs = [array([or_half(one.beliefs[at]) for at in one.known]) for one in heard]
    labels = [array([one.group.targets[at] or 0.0 for at in one.known]) for one in heard]
    pairs = list(zip(beliefs, labels, strict=True))
    belief = np.concatenate([*beliefs, array([])])

    def each(of: Callable[[Floats, Floats], float]) -> Floats:
        return array([of(*pair) for pair in pairs])

    return Columns(
        belief=belief,
        told=array([one.beliefs[at] is not None for one in heard for at in one.known]),
        label=np.concatenate([*labels, array([])]),
        claim=np.full(len(belief), np.nan),
        exact=each(lambda said, true: float(np.prod(rightness(said, true)))),
        best=each(_best),
        base=each(lambda _said, true: float(true.mean())),
        any_correct=each(lambda _said, true: float(true.max())),
        asked=array([one.asked for one in heard]),
        valid=array([one.valid for one in heard]),
        forced=np.zeros(len(heard)),
    )


def _best(said: Floats, true: Floats) -> float:
    """The mean label of those that are believed most."""
    return float(true[said == said.max()].mean())


def _rightness(belief: float, target: float) -> float:
    return 1 - abs(belief - target)


def _mean(values: Sequence[float] | Floats) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
