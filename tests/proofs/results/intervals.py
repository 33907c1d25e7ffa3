"""95 % percentile intervals of a mean over issues, drawn with replacement; the same seed draws the same issues (pure)."""

from collections.abc import Sequence
from dataclasses import astuple

import numpy as np

from model.evaluation.bootstrap import REPLICATES, Estimate, build_estimate


def mean(values: Sequence[float], *, seed: int = 0) -> Estimate:
    """The mean with its interval, to three decimals; nothing of no issue."""
    if not values:
        return Estimate(None, None, None)
    numbers = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(seed).integers(len(numbers), size=(REPLICATES, len(numbers)))
    exact = build_estimate(float(numbers.mean()), numbers[drawn].mean(axis=1), len(numbers))
    return Estimate(*(None if one is None else round(one, 3) for one in astuple(exact)))
