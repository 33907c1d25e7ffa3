"""Compare two judges of the same issues with paired tests (pure).

Patches of one issue are not independent, so issues are resampled and never single patches. Decisions per
issue are compared with McNemar's exact test (Psychometrika 12, 1947).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import comb

import numpy as np

from model.evaluation.bootstrap import Estimate, IssueRows, build_estimate
from model.evaluation.judgement_columns import Indices

Statistic = Callable[[Indices, Indices], float]
"""A function of selected rows of patches and of groups; NaN where it is undefined."""


def bootstrap_estimates(
    statistics: Mapping[str, Statistic],
    issue_rows: IssueRows,
    *,
    shares: Collection[str] = (),
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimate each statistic with a 95 % interval by resampling issues. The result is by statistic name.

    A statistic is a function of the row numbers of patches and of groups; `issue_rows` has those of each issue.
    `shares` names the statistics that are shares from 0 to 1; at exactly 0 or 1 they get Wilson's interval.
    """
    return _bootstrap(
        {name: (statistic, None) for name, statistic in statistics.items()},
        issue_rows,
        shares,
        seed,
    )


def bootstrap_differences(
    candidate: Mapping[str, Statistic],
    baseline: Mapping[str, Statistic],
    issue_rows: IssueRows,
    *,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Estimate each statistic of `candidate` minus that of `baseline`, with its 95 % interval.

    The result is by statistic name. Every draw takes the same issues for both. Raises KeyError when `baseline` lacks a
    statistic of `candidate`.
    """
    return _bootstrap(
        {name: (value, baseline[name]) for name, value in candidate.items()}, issue_rows, (), seed
    )


def compute_mcnemar_p(only_one: int, only_other: int) -> float:
    """Compute the two-sided p-value of McNemar's exact test for a difference between two judges.

    `only_one` counts the issues that only the first judge decides right. `only_other` counts those that only the second
    judge decides right.
    """
    return min(
        1.0, 2 * min(compute_worse_p(only_one, only_other), compute_worse_p(only_other, only_one))
    )


def compute_worse_p(only_one: int, only_other: int) -> float:
    """Compute the one-sided p-value of McNemar's exact test, small if the first judge is worse.

    `only_one` counts the issues that only the first judge decides right. `only_other` counts those that only the second
    judge decides right.
    """
    # under the null hypothesis each such issue is a fair coin
    trials = only_one + only_other
    return float(sum(comb(trials, hits) for hits in range(only_other, trials + 1)) / 2**trials)


def format_p_value(p: float) -> str:
    """Format a p-value with three decimals, as `p = 0.012`; `p < 0.001` for smaller values."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def count_discordant(
    candidate_right: Sequence[bool], baseline_right: Sequence[bool]
) -> tuple[int, int]:
    """Count the issues that only the candidate decides right, and those that only the baseline decides right.

    Both sequences say for each issue, in the same order, whether it is decided right.
    """
    pairs = list(zip(candidate_right, baseline_right, strict=True))
    return sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)


_Pair = tuple[Statistic, Statistic | None]


def _bootstrap(
    pairs: Mapping[str, _Pair], issue_rows: IssueRows, shares: Collection[str], seed: int
) -> dict[str, Estimate]:
    patches, groups = (np.concatenate(rows) for rows in (issue_rows.patches, issue_rows.groups))
    drawn = np.asarray(
        [
            [_compute_value(pair, *rows) for pair in pairs.values()]
            for rows in issue_rows.sample_draws(seed)
        ]
    )
    return {
        name: build_estimate(
            _compute_value(pair, patches, groups),
            drawn[:, index],
            len(issue_rows.groups),
            _count_trials(pair, issue_rows) if name in shares else None,
        )
        for index, (name, pair) in enumerate(pairs.items())
    }


def _count_trials(pair: _Pair, issue_rows: IssueRows) -> int:
    """Count the issues in which the share is defined."""
    values = (
        _compute_value(pair, *rows)
        for rows in zip(issue_rows.patches, issue_rows.groups, strict=True)
    )
    return sum(not np.isnan(value) for value in values)


def _compute_value(pair: _Pair, patches: Indices, groups: Indices) -> float:
    first, second = pair
    return first(patches, groups) - (second(patches, groups) if second else 0.0)
