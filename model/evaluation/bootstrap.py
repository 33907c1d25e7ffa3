"""Intervals by resampling issues, since patches of one issue stand or fall together (pure).

A cluster bootstrap with 95 % percentile intervals; the same seed draws the same issues.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.columns import Columns, Floats, Indices, columns
from model.evaluation.judged import JudgedGroup
from model.evaluation.metrics import Metric

REPLICATES = 1_000
LEVEL = 0.95


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
        name: estimate(metric(of), drawn[:, at], len(by.groups))
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


def estimate(value: float, drawn: Floats, issues: int) -> Estimate:
    """A value of that many issues with the interval of what was drawn; NaN among the draws counts nowhere."""
    if np.isnan(value):
        return Estimate(None, None, None)
    if issues < 2:
        return Estimate(value, None, None)
    tail = (1 - LEVEL) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail])
    return Estimate(value, float(low), float(high))
