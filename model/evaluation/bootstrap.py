"""Intervals by resampling issues, since patches of one issue stand or fall together (pure).

A cluster bootstrap with 95 % percentile intervals; the same seed draws the same issues. A share that came out 0 or 1
does so in every draw, which proves nothing of the next issue: its interval is Wilson's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import Columns, Floats, Indices, columns
from model.evaluation.metrics import METRICS, Metric
from model.evaluation.wilson import wilson

REPLICATES = 1_000
LEVEL = 0.95

_SHARES = frozenset(
    METRICS[name]
    for name in (
        *("accuracy", "exact_match", "claimed", "claimed_accuracy", "precision"),
        *("precision_when_sure", "format_valid", "forced", "best_of_group", "random", "oracle"),
    )
)
"""Metrics that count how often something is so: who was right in all of a few issues is not right for ever."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric with its 95 % interval; None where it is not defined, as the precision of no claim.

    An interval takes two issues: one says nothing of how others would differ.
    """

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Issues:
    """Which rows of the columns belong to each issue."""

    patches: tuple[Indices, ...]
    groups: tuple[Indices, ...]

    def draws(self, seed: int, replicates: int = REPLICATES) -> Iterator[tuple[Indices, Indices]]:
        """Rows of patches and of groups, for as many issues as there are, drawn with replacement."""
        randomness = np.random.default_rng(seed)
        count = len(self.groups)
        for _ in range(replicates):
            drawn = randomness.integers(count, size=count)
            yield (
                np.concatenate([self.patches[issue] for issue in drawn]),
                np.concatenate([self.groups[issue] for issue in drawn]),
            )


def issues(judged: Sequence[JudgedGroup]) -> Issues:
    """The rows of each issue, in the order of `columns(judged)`."""
    patches: dict[str, list[int]] = {}
    groups: dict[str, list[int]] = {}
    row = 0
    for number, group in enumerate(judged):
        groups.setdefault(group.instance_id, []).append(number)
        rows = range(row, row + len(group.patches))
        patches.setdefault(group.instance_id, []).extend(rows)
        row += len(group.patches)
    return Issues(
        tuple(np.asarray(rows, dtype=np.intp) for rows in patches.values()),
        tuple(np.asarray(rows, dtype=np.intp) for rows in groups.values()),
    )


def estimates(
    of: Columns, by: Issues, metrics: Mapping[str, Metric], *, seed: int = 0
) -> dict[str, Estimate]:
    """Each metric with its interval, all from the same draws."""
    drawn = np.asarray(
        [
            [metric(sample) for metric in metrics.values()]
            for sample in (of.take(*rows) for rows in by.draws(seed))
        ]
    )
    return {
        name: estimate(metric(of), drawn[:, at], len(by.groups), _trials(metric, of, by))
        for at, (name, metric) in enumerate(metrics.items())
    }


def differences(
    one: Sequence[JudgedGroup],
    other: Sequence[JudgedGroup],
    metrics: Mapping[str, Metric],
    *,
    seed: int = 0,
) -> dict[str, Estimate]:
    """What `one` has more of than `other` on the groups that both judged: paired, the same issues in every draw.

    Raises ValueError when they share no group.
    """
    first, second = ({group.key.group: group for group in run} for run in (one, other))
    both = [group for group in first if group in second]
    if not both:
        raise ValueError("the two runs share no group; judge the same file with both")
    left, right = [first[group] for group in both], [second[group] for group in both]
    a, b, by = columns(left), columns(right), issues(left)
    drawn = np.asarray(
        [
            [metric(a.take(*rows)) - metric(b.take(*rows)) for metric in metrics.values()]
            for rows in by.draws(seed)
        ]
    )
    return {
        name: estimate(metric(a) - metric(b), drawn[:, at], len(by.groups))
        for at, (name, metric) in enumerate(metrics.items())
    }


def estimate(value: float, drawn: Floats, issues: int, trials: float | None = None) -> Estimate:
    """A value of that many issues with the interval of what was drawn; NaN among the draws counts nowhere.

    `trials`: see `bounds`.
    """
    if np.isnan(value):
        return Estimate(None, None, None)
    if issues < 2:
        return Estimate(value, None, None)
    return Estimate(value, *bounds(value, drawn, trials))


def bounds(value: float, drawn: Floats, trials: float | None = None) -> tuple[float, float]:
    """The 95 % interval of a value by what was drawn.

    `trials`: for a share alone, how many independent issues it is of; at 0 or 1 they decide, and the draws don't.
    """
    if trials is not None and value in {0.0, 1.0}:
        return wilson(value * trials, trials)
    tail = (1 - LEVEL) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


def effective(counted: Floats) -> float:
    """How many independent issues these are, each given by what is counted in it; 0 for none.

    Kish's effective sample size (Survey Sampling, 1965). On the safe side: patches of an issue are alike, not the same.
    """
    return float(counted.sum() ** 2 / (counted**2).sum()) if counted.any() else 0.0


def _trials(metric: Metric, of: Columns, by: Issues) -> float | None:
    """The issues that a share is of; None for what is no share."""
    if metric not in _SHARES:
        return None
    each = [metric(of.take(*rows)) for rows in zip(by.patches, by.groups, strict=True)]
    return float(np.sum(~np.isnan(each)))
