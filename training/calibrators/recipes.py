"""The ways to fit a calibrator, simplest first, and how one of them is chosen.

The one-standard-error rule (Breiman et al., Classification and Regression Trees, 1984, §3.4.3): the simplest recipe whose
held-out Brier score is within one standard error of the best. Votes that carry nothing are so left out, instead of
getting a small weight from chance that the next issues take back.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from model.calibration.calibration import (
    FEATURES,
    MONOTONE,
    CalibrationMethod,
    Calibrator,
    History,
    features,
)
from model.evaluation.judgement_columns import Floats
from training.calibrators.evidence import Row

FOLDS = 5


@dataclass(frozen=True, slots=True)
class CalibratorRecipe:
    """One way to make a probability of evidence."""

    name: str
    features: tuple[str, ...]
    kind: CalibrationMethod = CalibrationMethod.PLATT
    is_fitted: bool = True
    """False: the one feature is taken at its word."""


AS_IT_IS = CalibratorRecipe("consensus as it is", ("consensus",), is_fitted=False)
"""Consensus was calibrated on thousands of patches: a few dozen issues have to contradict it clearly."""
RECIPES = (
    AS_IT_IS,
    CalibratorRecipe("consensus", ("consensus",)),
    CalibratorRecipe("votes", ("votes",)),
    CalibratorRecipe("votes and consensus", ("votes", "consensus")),
    CalibratorRecipe("everything", FEATURES),
    CalibratorRecipe("everything, isotonic", FEATURES, CalibrationMethod.ISOTONIC),
)
"""From the simplest to the one that can learn the most."""


def offered(rows: Sequence[Row]) -> tuple[CalibratorRecipe, ...]:
    """The recipes that rows with these kinds of evidence can follow, simplest first."""
    missing = set()
    if all(row.evidence.score is None for row in rows):
        missing.add("votes")
    if all(row.evidence.consensus is None for row in rows):
        missing.add("consensus")
    everywhere = all(row.evidence.consensus is not None for row in rows)
    return tuple(
        one
        for one in RECIPES
        if (len(one.features) > 2 or not missing & set(one.features))
        and (one.is_fitted or everywhere)
    )


def tried(rows: Sequence[Row]) -> dict[CalibratorRecipe, Floats]:
    """For each recipe on offer, each row's probability by a fit that never saw its issue."""
    return {one: _held_out(rows, one) for one in offered(rows)}


def simplest(held_out: Mapping[CalibratorRecipe, Floats], rows: Sequence[Row]) -> CalibratorRecipe:
    """The first recipe within one standard error, by issue, of the one with the lowest Brier score."""
    losses = {one: _losses(probabilities, rows) for one, probabilities in held_out.items()}
    best = min(losses.values(), key=lambda loss: float(loss.sum()))
    return next(one for one, loss in losses.items() if _is_near(loss, best))


def brier(probabilities: Floats, rows: Sequence[Row]) -> float:
    """Weighed mean squared error of the probabilities that there are."""
    labels, known = _truths(rows), ~np.isnan(probabilities)
    errors = (probabilities[known] - labels[known]) ** 2
    return float(np.average(errors, weights=weights(rows)[known]))


def folds(issues: Iterable[str]) -> dict[str, int]:
    """A fold for each issue, by its hash: the same however the rows are ordered."""
    drawn = sorted(issues, key=lambda issue: hashlib.sha256(issue.encode()).digest())
    return {issue: at % FOLDS for at, issue in enumerate(drawn)}


def weights(rows: Sequence[Row]) -> Floats:
    """What each row counts."""
    return np.asarray([row.weight for row in rows], dtype=np.float64)


def fitted(
    rows: Sequence[Row], recipe: CalibratorRecipe, history: History, fitted_at: str
) -> Calibrator:
    """A calibrator by this recipe, on these rows."""
    if not recipe.is_fitted:
        return Calibrator(fitted_at, history, weights=dict.fromkeys(recipe.features, 1.0))
    labels, counts = np.asarray([row.correct for row in rows]), weights(rows)
    known = [features(row.evidence) for row in rows]
    learnt, intercept = _logistic(known, labels, counts, list(recipe.features))
    platt = Calibrator(fitted_at, history, weights=learnt, intercept=intercept)
    if recipe.kind is CalibrationMethod.PLATT:
        return platt
    logits = [intercept + sum(w * one[name] for name, w in learnt.items()) for one in known]
    curve = _isotonic(np.asarray(logits), labels, counts)
    return replace(platt, kind=CalibrationMethod.ISOTONIC, curve=curve)


def _held_out(rows: Sequence[Row], recipe: CalibratorRecipe) -> Floats:
    fold_of = folds({row.issue for row in rows})
    found = np.full(len(rows), np.nan)
    for fold in range(FOLDS):
        others = [row for row in rows if fold_of[row.issue] != fold]
        calibrator = fitted(others, recipe, _ENOUGH, "")
        for at, row in enumerate(rows):
            if fold_of[row.issue] == fold:
                found[at] = calibrator.probability(row.evidence)
    return found


_ENOUGH = History(10**6, 10**6, 10**6)
"""A fit that is only measured may say a number, however few rows it has."""


def _losses(probabilities: Floats, rows: Sequence[Row]) -> Floats:
    """Weighed squared error of each issue, summed, in a fixed order of issues."""
    issues = sorted({row.issue for row in rows})
    at = {issue: index for index, issue in enumerate(issues)}
    errors = weights(rows) * (probabilities - _truths(rows)) ** 2
    sums = np.bincount([at[row.issue] for row in rows], weights=errors, minlength=len(issues))
    return sums.astype(np.float64)


def _is_near(loss: Floats, best: Floats) -> bool:
    """Whether the mean of the difference is no more than its standard error."""
    more = loss - best
    return bool(more.mean() <= more.std(ddof=1) / np.sqrt(len(more)))


def _truths(rows: Sequence[Row]) -> Floats:
    return np.asarray([row.correct for row in rows], dtype=np.float64)


def _logistic(
    known: Sequence[Mapping[str, float]],
    labels: NDArray[np.bool_],
    counts: Floats,
    names: list[str],
) -> tuple[dict[str, float], float]:
    """Weights of the features that vary, on their own scale, and the intercept.

    Evidence for a patch that the fit would hold against it is left out: on a few issues a weak verifier seems to be
    right by being wrong, and the next issues take that back.
    """
    names = [name for name in names if len({one[name] for one in known}) > 1]
    table = np.asarray([[one[name] for name in names] for one in known])
    if not names or labels.all() or not labels.any():
        share = (counts @ labels + 1) / (counts.sum() + 2)
        return {}, float(np.log(share / (1 - share)))
    from sklearn.linear_model import LogisticRegression

    middle, spread = table.mean(axis=0), table.std(axis=0)
    model = LogisticRegression(max_iter=1_000).fit((table - middle) / spread, labels, counts)
    learnt = model.coef_[0] / spread
    if wrong := [name for name, w in zip(names, learnt, strict=True) if name in MONOTONE and w < 0]:
        return _logistic(known, labels, counts, [name for name in names if name not in wrong])
    intercept = float(model.intercept_[0] - learnt @ middle)
    return dict(zip(names, map(float, learnt), strict=True)), intercept


def _isotonic(
    logits: Floats, labels: NDArray[np.bool_], counts: Floats
) -> tuple[tuple[float, float], ...]:
    """The rising curve nearest to the labels, never quite 0 or 1: no finite history proves that."""
    from sklearn.isotonic import IsotonicRegression

    edge = float(1 / (counts.sum() + 2))
    model = IsotonicRegression(y_min=edge, y_max=1 - edge).fit(logits, labels, counts)
    points = zip(model.X_thresholds_, model.y_thresholds_, strict=True)
    return tuple((float(logit), float(probability)) for logit, probability in points)
