"""Compute 95 % intervals by a cluster bootstrap over issues (pure).

Patches of one issue are not independent, so whole issues are resampled and never single patches. The same seed
draws the same issues. A share of exactly 0 or 1 is 0 or 1 in every draw, so its interval is Wilson's instead.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import Floats, Indices, JudgementColumns, build_columns
from model.evaluation.metrics import METRICS, Metric
from model.evaluation.wilson import compute_wilson_interval

REPLICATES = 1_000
LEVEL = 0.95

_SHARES = frozenset(
    METRICS[name]
    for name in (
        *("accuracy", "exact_match", "claimed", "claimed_accuracy", "precision"),
        *(
            "precision_when_sure",
            "coverage_at_90",
            "format_valid",
            "forced",
            "best_of_group",
            "random",
            "oracle",
        ),
    )
)
"""Metrics that are shares. At 0 or 1 their interval is Wilson's."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric with its 95 % interval.

    The value is None where the metric is undefined, such as the precision without claims. The bounds `low` and `high`
    are None where the value is None or comes from fewer than two issues.
    """

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, eq=False)
class IssueRows:
    """The row numbers of each issue's patches and groups in a JudgementColumns."""

    patches: tuple[Indices, ...]
    """For each issue, the row numbers of its patches."""
    groups: tuple[Indices, ...]
    """For each issue, the row numbers of its groups."""

    def sample_draws(
        self, seed: int, replicates: int = REPLICATES
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield `replicates` bootstrap draws, each as the row numbers of the drawn patches and of the drawn groups.

        A draw takes as many issues as there are, with replacement. A row appears as often as its issue was drawn.
        """
        # one generator for all metrics, so that their draws are the same
        randomness = np.random.default_rng(seed)
        count = len(self.groups)
        for _ in range(replicates):
            drawn = randomness.integers(count, size=count)
            yield (
                np.concatenate([self.patches[issue] for issue in drawn]),
                np.concatenate([self.groups[issue] for issue in drawn]),
            )


def collect_rows(groups: Iterable[tuple[str, int]]) -> IssueRows:
    """Return the row numbers of each issue's patches and groups, counted from 0.

    `groups` has an (issue, number of patches) pair for each group, in the order of the rows.
    """
    patches: dict[str, list[int]] = {}
    numbers: dict[str, list[int]] = {}
    row = 0
    for number, (issue, size) in enumerate(groups):
        numbers.setdefault(issue, []).append(number)
        patches.setdefault(issue, []).extend(range(row, row + size))
        row += size
    return IssueRows(
        tuple(np.asarray(rows, dtype=np.intp) for rows in patches.values()),
        tuple(np.asarray(rows, dtype=np.intp) for rows in numbers.values()),
    )


def index_issues(judged: Sequence[JudgedGroup]) -> IssueRows:
    """Return the row numbers of each issue's patches and groups in `build_columns(judged)`."""
    return collect_rows((group.instance_id, len(group.patches)) for group in judged)


def estimate_metrics(
    columns: JudgementColumns,
    issue_rows: IssueRows,
    metrics: Mapping[str, Metric],
    *,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimate each metric of `columns` with a 95 % interval, and return the estimates by metric name.

    All metrics share the same draws of issues. `issue_rows` has the rows of each issue in `columns`.
    """
    drawn = np.asarray(
        [
            [metric(sample) for metric in metrics.values()]
            for sample in (columns.take(*rows) for rows in issue_rows.sample_draws(seed))
        ]
    )
    return {
        name: build_estimate(
            metric(columns),
            drawn[:, index],
            len(issue_rows.groups),
            _count_trials(metric, columns, issue_rows),
        )
        for index, (name, metric) in enumerate(metrics.items())
    }


def estimate_differences(
    first_run: Sequence[JudgedGroup],
    second_run: Sequence[JudgedGroup],
    metrics: Mapping[str, Metric],
    *,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimate each metric of `first_run` minus that of `second_run`, on the groups that both runs judged.

    The result has the names of `metrics`. Every draw takes the same issues of both runs. Raises ValueError when the
    runs share no group.
    """
    first, second = ({group.key.group: group for group in run} for run in (first_run, second_run))
    both = [group for group in first if group in second]
    if not both:
        raise ValueError("the two runs share no group; judge the same file with both")
    left, right = [first[group] for group in both], [second[group] for group in both]
    first_columns, second_columns, issue_rows = (
        build_columns(left),
        build_columns(right),
        index_issues(left),
    )
    drawn = np.asarray(
        [
            [
                metric(first_columns.take(*rows)) - metric(second_columns.take(*rows))
                for metric in metrics.values()
            ]
            for rows in issue_rows.sample_draws(seed)
        ]
    )
    return {
        name: build_estimate(
            metric(first_columns) - metric(second_columns), drawn[:, index], len(issue_rows.groups)
        )
        for index, (name, metric) in enumerate(metrics.items())
    }


def build_estimate(
    value: float, drawn: Floats, issues: int, trials: float | None = None
) -> Estimate:
    """Build the estimate of a metric from its value and its bootstrap draws.

    `drawn` has the metric's value in each draw; NaN is ignored. `issues` is the number of issues. The estimate has no
    bounds for fewer than two issues, and no value for a `value` of NaN. `trials` is that of `compute_interval`.
    """
    if np.isnan(value):
        return Estimate(None, None, None)
    if issues < 2:
        return Estimate(value, None, None)
    return Estimate(value, *compute_interval(value, drawn, trials))


def compute_interval(
    value: float, drawn: Floats, trials: float | None = None
) -> tuple[float, float]:
    """Compute the 95 % interval (low, high) of a value from its bootstrap draws.

    `trials` is the number of independent issues for a share, and None for any other metric. For a share of 0 or 1 the
    Wilson interval with `trials` replaces the draws.
    """
    if trials is not None and value in {0.0, 1.0}:
        return compute_wilson_interval(value * trials, trials)
    tail = (1 - LEVEL) / 2
    # a metric can be undefined in some draws, such as precision without claims
    low, high = np.nanquantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


def compute_effective_size(counted: Floats) -> float:
    """Compute how many independent issues the counts are worth; 0 if all counts are 0.

    `counted` has one count per issue, such as its number of patches. The formula is Kish's effective sample size
    (Survey Sampling, 1965). It errs on the safe side, because patches of one issue are similar but not identical.
    """
    return float(counted.sum() ** 2 / (counted**2).sum()) if counted.any() else 0.0


def _count_trials(metric: Metric, columns: JudgementColumns, issue_rows: IssueRows) -> float | None:
    """Count the issues in which a share is defined; None for a metric that is no share."""
    if metric not in _SHARES:
        return None
    values = [
        metric(columns.take(*rows))
        for rows in zip(issue_rows.patches, issue_rows.groups, strict=True)
    ]
    return float(np.sum(~np.isnan(values)))
