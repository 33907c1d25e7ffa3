"""Logistic and isotonic regressions under many sets of weights at once (pure)."""

import numpy as np
from numpy.typing import NDArray

from model.evaluation.judgement_columns import Floats, Indices

Mask = NDArray[np.bool_]

_LEAST_VARIANCE = 1e-12
"""A feature that varies less is constant."""
_NEAR = 1e-3
"""The fit ends after a step that moves no logit further. Its error is then about the square of that."""
_MOST_STEPS = 200


def sum_groups(values: Floats, groups: Indices) -> Floats:
    """Sum the columns of `values` (S x n) with an equal number in `groups` (n, from 0 without a gap) to S x G."""
    if not len(groups):
        return np.zeros((len(values), 0))
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    return np.add.reduceat(values[:, order], starts, axis=1)


def fit_logistic(features: Floats, totals: Floats, positives: Floats, is_rising: Mask) -> Floats:
    """Fit a logistic regression for each set of weights, with a penalty of half the squared standardised weights.

    `features` (U x k) has a row per kind of evidence. `totals` and `positives` (S x U) are the weights of all, and of the
    correct patches of each kind. Constant features get the weight 0. Those in `is_rising` (k) whose weight would be
    negative are dropped, and the fit is repeated: on few issues such weights are chance. Returns the weights with the
    intercept in the last column (S x (k + 1)).
    """
    sums, hits = totals.sum(axis=1), positives.sum(axis=1)
    middle = totals[0] @ features / sums[0]
    table = np.column_stack([features - middle, np.ones(len(features))])
    means = totals @ table[:, :-1] / sums[:, None]
    spread = totals @ table[:, :-1] ** 2 / sums[:, None] - means**2
    is_mixed = (hits > 0) & ((totals - positives).sum(axis=1) > 0)
    is_used = (spread > _LEAST_VARIANCE) & is_mixed[:, None]
    fitted = np.zeros((len(totals), table.shape[1]))
    rows = np.flatnonzero(is_used.any(axis=1))
    while len(rows):
        problem = totals[rows], positives[rows], spread[rows], is_used[rows]
        fitted[rows] = _minimise(table, *problem)
        is_wrong = is_used & is_rising & (fitted[:, :-1] < 0)
        is_used &= ~is_wrong
        rows = np.flatnonzero(is_wrong.any(axis=1) & is_used.any(axis=1))
    # Laplace's rule keeps the share inside (0, 1)
    shares = (hits + 1) / (sums + 2)
    is_share = ~is_used.any(axis=1)
    fitted[is_share, :-1] = 0.0
    fitted[is_share, -1] = np.log(shares / (1 - shares))[is_share]
    fitted[:, -1] -= fitted[:, :-1] @ middle
    return fitted


def fit_curve(logits: Floats, totals: Floats, positives: Floats) -> tuple[Floats, Floats]:
    """Fit the rising curve nearest to the labels, as (logits, probabilities) of its points.

    It never reaches 0 or 1, which no finite history proves.
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(logits, kind="stable")
    order = order[totals[order] > 0]
    points, weights, hits = logits[order], totals[order], positives[order]
    if not (points[1:] > points[:-1]).all():
        starts = np.flatnonzero(np.diff(points, prepend=-np.inf))
        points = points[starts]
        weights, hits = np.add.reduceat(weights, starts), np.add.reduceat(hits, starts)
    # Laplace's rule for a bin where all labels agree
    edge = 1 / (weights.sum() + 2)
    return points, np.clip(isotonic_regression(hits / weights, weights=weights).x, edge, 1 - edge)


def _minimise(
    table: Floats, totals: Floats, positives: Floats, spread: Floats, is_used: Mask
) -> Floats:
    """Minimise the penalised loss of each set of weights. All sets start from the result of the first one."""
    is_free = np.column_stack([is_used, np.ones(len(is_used), dtype=bool)])
    penalties = np.column_stack([spread, np.zeros(len(spread))])
    first = slice(0, 1)
    start = np.zeros((1, table.shape[1]))
    start = _descend(
        table, (totals[first], positives[first]), penalties[first], is_free[first], start
    )
    if len(totals) == 1:
        return start
    # one row of coefficients makes the first step cheap: its probabilities are the same for all sets
    is_alike = bool((is_free == is_free[first]).all())
    start = start if is_alike else start * is_free
    return _descend(table, (totals, positives), penalties, is_free, start)


def _descend(
    table: Floats, counts: tuple[Floats, Floats], penalties: Floats, is_free: Mask, start: Floats
) -> Floats:
    """Descend by damped Newton steps, with the coefficients outside `is_free` at 0.

    The step of log(1 + d) / d, where d is the farthest move of a logit, always lowers a logistic loss (T. Sun and
    Q. Tran-Dinh, Mathematical Programming 178, 2019, for generalised self-concordant functions), so that the descent
    needs no line search.
    """
    (totals, positives), size = counts, table.shape[1]
    # the Hessian is symmetric: only its upper triangle is summed
    upper, left = np.triu_indices(size)
    products = table[:, upper] * table[:, left]
    both = np.zeros((size, size), dtype=np.intp)
    both[upper, left] = both[left, upper] = np.arange(len(upper))
    is_fixed = ~(is_free[:, :, None] & is_free[:, None, :])
    identity = np.eye(size)
    coefficients: Floats = start
    for _ in range(_MOST_STEPS):
        chances = compute_sigmoid(coefficients @ table.T)
        expected = totals * chances
        gradient = (expected - positives) @ table + penalties * coefficients
        hessian = ((expected * (1 - chances)) @ products)[:, both]
        hessian += penalties[:, :, None] * identity
        hessian = np.where(is_fixed, identity, hessian)
        step = -np.linalg.solve(hessian, np.where(is_free, gradient, 0.0)[:, :, None])[:, :, 0]
        reach = np.abs(step @ table.T).max(axis=1, keepdims=True) + np.finfo(np.float64).tiny
        coefficients = coefficients + step * np.log1p(reach) / reach
        if reach.max() < _NEAR:
            return coefficients
    raise ArithmeticError(f"a calibrator's fit has not ended after {_MOST_STEPS} steps")


def compute_sigmoid(logits: Floats) -> Floats:
    """Convert logits to probabilities."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-logits)), dtype=np.float64)
