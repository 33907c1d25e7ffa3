"""Estimate many rates at once with intervals bootstrapped by issue (pure).

The draws equal those of `bootstrap`.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from model.evaluation.bootstrap import REPLICATES, Estimate, build_estimate, compute_effective_size
from model.evaluation.judgement_columns import Floats, Indices


def estimate_rates(
    tops: Floats, bottoms: Floats, issue: Indices, *, are_differences: bool = False
) -> list[Estimate]:
    """Estimate several rates with 95 % intervals. A rate is the sum of `tops` over the sum of `bottoms`.

    `tops` (numerators) and `bottoms` (denominators) have the shape (items, rates); the result has an estimate for each
    rate. `issue` has the issue number (0, 1, …) of each item. Whole issues are resampled. With `are_differences`, no
    rate is a share, whatever its value, so a difference of 0 in each issue has the interval 0 … 0.
    """
    count = int(issue.max()) + 1
    top, bottom = (np.zeros((count, tops.shape[1])) for _ in range(2))
    # add.at sums repeated indices, which plain indexing would drop
    np.add.at(top, issue, tops)
    np.add.at(bottom, issue, bottoms)
    times = _count_draws(count)
    # (draws, issues) @ (issues, columns): the sums of every draw in one product
    drawn = _divide(times @ top, times @ bottom)
    whole = _divide(top.sum(axis=0), bottom.sum(axis=0))
    issue_counts = (bottom > 0).sum(axis=0)
    # Wilson's interval is for shares only, where every top lies between 0 and its bottom
    are_shares = np.all((top >= 0) & (top <= bottom), axis=0).tolist()
    return [
        build_estimate(
            float(value),
            drawn[:, index],
            int(issue_counts[index]),
            compute_effective_size(bottom[:, index])
            if are_shares[index] and not are_differences
            else None,
        )
        for index, value in enumerate(whole)
    ]


def estimate_means(values: Floats, bins: Indices, count: int, issue: Indices) -> list[Estimate]:
    """Estimate the mean of the values in each of `count` bins, with its 95 % interval.

    `bins` has the bin number of each value, negative for a value to ignore. `issue` has the issue number of each value.
    The estimate of an empty bin is None in all parts.
    """
    inside = (bins[:, None] == np.arange(count)).astype(np.float64)
    return estimate_rates(inside * values[:, None], inside, issue)


def number_names(names: Sequence[str]) -> Indices:
    """Return a number for each name: 0 for the first name, 1 for the next different one, and so on."""
    numbers: dict[str, int] = {}
    return np.asarray([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)


@lru_cache(maxsize=64)
def _count_draws(count: int, seed: int = 0) -> Floats:
    """Count how often each draw takes each issue; shape (draws, issues)."""
    randomness = np.random.default_rng(seed)
    draws = (randomness.integers(count, size=count) for _ in range(REPLICATES))
    return np.asarray([np.bincount(drawn, minlength=count) for drawn in draws], dtype=np.float64)


def _divide(top: Floats, bottom: Floats) -> Floats:
    ratio: Floats = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
    return ratio
