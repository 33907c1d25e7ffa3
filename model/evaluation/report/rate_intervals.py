"""Rates with their intervals, bootstrapped by issue: the draws of `bootstrap.py`, for many rates at once (pure)."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from model.evaluation.bootstrap import REPLICATES, Estimate, effective, estimate
from model.evaluation.judgement_columns import Floats, Indices


def rates(tops: Floats, bottoms: Floats, issue: Indices) -> list[Estimate]:
    """Sum of tops over sum of bottoms, for each column; rows belong to the issues 0, 1, … of `issue`."""
    count = int(issue.max()) + 1
    top, bottom = (np.zeros((count, tops.shape[1])) for _ in range(2))
    np.add.at(top, issue, tops)
    np.add.at(bottom, issue, bottoms)
    times = _times_drawn(count)
    drawn = _divided(times @ top, times @ bottom)
    whole = _divided(top.sum(axis=0), bottom.sum(axis=0))
    told = (bottom > 0).sum(axis=0)
    are_shares = np.all((top >= 0) & (top <= bottom), axis=0).tolist()
    return [
        estimate(
            float(value),
            drawn[:, at],
            int(told[at]),
            effective(bottom[:, at]) if are_shares[at] else None,
        )
        for at, value in enumerate(whole)
    ]


def means(values: Floats, bins: Indices, count: int, issue: Indices) -> list[Estimate]:
    """Mean of the values in each of `count` bins; None for an empty one. Rows with a negative bin count nowhere."""
    inside = (bins[:, None] == np.arange(count)).astype(np.float64)
    return rates(inside * values[:, None], inside, issue)


def numbered(names: Sequence[str]) -> Indices:
    """A number for each name, in the order of their first appearance."""
    numbers: dict[str, int] = {}
    return np.asarray([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)


@lru_cache(maxsize=64)
def _times_drawn(count: int, seed: int = 0) -> Floats:
    """How often each issue is in each draw."""
    randomness = np.random.default_rng(seed)
    draws = (randomness.integers(count, size=count) for _ in range(REPLICATES))
    return np.asarray([np.bincount(drawn, minlength=count) for drawn in draws], dtype=np.float64)


def _divided(top: Floats, bottom: Floats) -> Floats:
    ratio: Floats = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
    return ratio
