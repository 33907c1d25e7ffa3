"""The recipes to fit a calibrator, simplest first, and the choice between them.

The choice follows the one-standard-error rule (Breiman et al., Classification and Regression Trees, 1984,
section 3.4.3): the simplest recipe whose held-out Brier score is within one standard error of the best.
Uninformative votes are thus dropped instead of getting a small weight by chance.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from model.calibration.calibration import (
    FEATURES,
    MONOTONE,
    CalibrationMethod,
    Calibrator,
    History,
    build_features,
)
from model.evaluation.judgement_columns import Floats
from training.calibrators.evidence import PatchEvidence

FOLDS = 5


@dataclass(frozen=True, slots=True)
class CalibratorRecipe:
    """One way to fit a calibrator: the features it uses and the calibration method."""

    name: str
    features: tuple[str, ...]
    """Names of the features, from FEATURES."""
    kind: CalibrationMethod = CalibrationMethod.PLATT
    is_fitted: bool = True
    """False for a recipe that uses its one feature unchanged."""
    prior: Calibrator | None = field(default=None, compare=False)
    """A calibrator of other issues that the recipe uses unchanged; the rows must contradict it clearly."""


AS_IT_IS = CalibratorRecipe("consensus as it is", ("consensus",), is_fitted=False)
"""Consensus was calibrated on thousands of patches, so a few dozen issues must contradict it clearly."""
RECIPES = (
    AS_IT_IS,
    CalibratorRecipe("consensus", ("consensus",)),
    CalibratorRecipe("votes", ("votes",)),
    CalibratorRecipe("votes and consensus", ("votes", "consensus")),
    CalibratorRecipe("everything", FEATURES),
    CalibratorRecipe("everything, isotonic", FEATURES, CalibrationMethod.ISOTONIC),
)
"""From the simplest to the most flexible."""


def list_recipes(
    rows: Sequence[PatchEvidence], prior: Calibrator | None = None
) -> tuple[CalibratorRecipe, ...]:
    """List the recipes that the evidence in the rows allows, simplest first. With a `prior`, that is the simplest.

    A recipe with one or two features needs at least one row with each feature. The recipe that uses the consensus
    belief without a fit needs that belief in every row.
    """
    rows, missing = _drop_weightless(rows), set()
    if all(row.evidence.score is None for row in rows):
        missing.add("votes")
    if all(row.evidence.consensus is None for row in rows):
        missing.add("consensus")
    everywhere = all(row.evidence.consensus is not None for row in rows)
    unchanged = () if prior is None else (CalibratorRecipe("prior as it is", (), prior=prior),)
    return unchanged + tuple(
        recipe
        for recipe in RECIPES
        if (len(recipe.features) > 2 or not missing & set(recipe.features))
        and (recipe.is_fitted or everywhere)
    )


def cross_validate(
    rows: Sequence[PatchEvidence], prior: Calibrator | None = None
) -> dict[CalibratorRecipe, Floats]:
    """Predict each row's probability with each recipe of `list_recipes`, fitted without the row's issue.

    The result has, by recipe, an array of probabilities in the order of `rows`.
    """
    return {recipe: _predict_held_out(rows, recipe) for recipe in list_recipes(rows, prior)}


def select_simplest(
    held_out: Mapping[CalibratorRecipe, Floats], rows: Sequence[PatchEvidence]
) -> CalibratorRecipe:
    """Select the simplest recipe whose held-out Brier score is within one standard error of the best.

    `held_out` has each recipe's held-out probabilities of the rows, simplest recipe first. The standard error is over
    issues.
    """
    losses = {
        recipe: _sum_losses(probabilities, rows) for recipe, probabilities in held_out.items()
    }
    best = min(losses.values(), key=lambda loss: float(loss.sum()))
    return next(recipe for recipe, loss in losses.items() if _is_near(loss, best))


def compute_brier(probabilities: Floats, rows: Sequence[PatchEvidence]) -> float:
    """Compute the Brier score, the weighted mean squared error of `probabilities` against the rows' labels.

    Rows with a probability of NaN are left out.
    """
    labels, is_known = _list_truths(rows), ~np.isnan(probabilities)
    errors = (probabilities[is_known] - labels[is_known]) ** 2
    return float(np.average(errors, weights=compute_weights(rows)[is_known]))


def assign_folds(issues: Iterable[str]) -> dict[str, int]:
    """Map each issue to its cross-validation fold, from 0 to FOLDS - 1.

    The fold depends on the hashes of the issues, not on their order.
    """
    drawn = sorted(issues, key=lambda issue: hashlib.sha256(issue.encode()).digest())
    return {issue: index % FOLDS for index, issue in enumerate(drawn)}


def compute_weights(rows: Sequence[PatchEvidence]) -> Floats:
    """Return the weights of the rows as an array."""
    return np.asarray([row.weight for row in rows], dtype=np.float64)


def fit_recipe(
    rows: Sequence[PatchEvidence], recipe: CalibratorRecipe, history: History, fitted_at: str
) -> Calibrator:
    """Fit a calibrator with this recipe on these rows.

    The calibrator stores `history`, the size of its data, and `fitted_at`, an ISO 8601 time. With too small a history
    it predicts nothing.
    """
    if recipe.prior is not None:
        return replace(recipe.prior, fitted_at=fitted_at, history=history)
    if not recipe.is_fitted:
        return Calibrator(fitted_at, history, weights=dict.fromkeys(recipe.features, 1.0))
    rows = _drop_weightless(rows)
    labels, counts = np.asarray([row.correct for row in rows]), compute_weights(rows)
    feature_rows = [_cache_features(row.evidence) for row in rows]
    learnt, intercept = _fit_logistic(feature_rows, labels, counts, list(recipe.features))
    platt = Calibrator(fitted_at, history, weights=learnt, intercept=intercept)
    if recipe.kind is CalibrationMethod.PLATT:
        return platt
    logits = [
        intercept + sum(w * patch[name] for name, w in learnt.items()) for patch in feature_rows
    ]
    curve = _fit_isotonic(np.asarray(logits), labels, counts)
    return replace(platt, kind=CalibrationMethod.ISOTONIC, curve=curve)


def _drop_weightless(rows: Sequence[PatchEvidence]) -> list[PatchEvidence]:
    return [row for row in rows if row.weight]


_cache_features = lru_cache(maxsize=2**16)(build_features)
"""Cross-validation builds the features of each row some 150 times. No caller may change the result."""


def _predict_held_out(rows: Sequence[PatchEvidence], recipe: CalibratorRecipe) -> Floats:
    fold_of = assign_folds({row.issue for row in rows})
    predictions = np.full(len(rows), np.nan)
    for fold in range(FOLDS):
        others = [row for row in rows if fold_of[row.issue] != fold]
        # patches often share their evidence
        predict = lru_cache(fit_recipe(others, recipe, _ENOUGH, "").predict_probability)
        for index, row in enumerate(rows):
            if fold_of[row.issue] == fold:
                predictions[index] = predict(row.evidence)
    return predictions


_ENOUGH = History(10**6, 10**6, 10**6)
"""Cross-validation needs predictions even from few rows."""


def _sum_losses(probabilities: Floats, rows: Sequence[PatchEvidence]) -> Floats:
    """Sum the weighted squared errors of each issue, in a fixed order of issues."""
    issues = sorted({row.issue for row in rows})
    index_of = {issue: index for index, issue in enumerate(issues)}
    errors = compute_weights(rows) * (probabilities - _list_truths(rows)) ** 2
    sums = np.bincount([index_of[row.issue] for row in rows], weights=errors, minlength=len(issues))
    return sums.astype(np.float64)


def _is_near(loss: Floats, best: Floats) -> bool:
    """Whether the mean difference is at most its standard error."""
    more = loss - best
    return bool(more.mean() <= more.std(ddof=1) / np.sqrt(len(more)))


def _list_truths(rows: Sequence[PatchEvidence]) -> Floats:
    return np.asarray([row.correct for row in rows], dtype=np.float64)


def _fit_logistic(
    feature_rows: Sequence[Mapping[str, float]],
    labels: NDArray[np.bool_],
    counts: Floats,
    names: list[str],
) -> tuple[dict[str, float], float]:
    """Fit weights of the varying features, on their own scale, and the intercept.

    Features that should raise the probability but get a negative weight are dropped, and the fit is repeated:
    on few issues such weights are chance.
    """
    names = [name for name in names if len({row[name] for row in feature_rows}) > 1]
    table = np.asarray([[row[name] for name in names] for row in feature_rows])
    if not names or labels.all() or not labels.any():
        # Laplace's rule keeps the share inside (0, 1)
        share = (counts @ labels + 1) / (counts.sum() + 2)
        return {}, float(np.log(share / (1 - share)))
    from sklearn.linear_model import LogisticRegression

    # standardised features, because the penalty depends on their scale
    middle = np.average(table, axis=0, weights=counts)
    spread = np.sqrt(np.average((table - middle) ** 2, axis=0, weights=counts))
    model = LogisticRegression(max_iter=1_000).fit((table - middle) / spread, labels, counts)
    learnt = model.coef_[0] / spread
    if wrong := [name for name, w in zip(names, learnt, strict=True) if name in MONOTONE and w < 0]:
        return _fit_logistic(
            feature_rows, labels, counts, [name for name in names if name not in wrong]
        )
    intercept = float(model.intercept_[0] - learnt @ middle)
    return dict(zip(names, map(float, learnt), strict=True)), intercept


def _fit_isotonic(
    logits: Floats, labels: NDArray[np.bool_], counts: Floats
) -> tuple[tuple[float, float], ...]:
    """Fit the rising curve nearest to the labels. It never reaches 0 or 1, which no finite history proves."""
    from sklearn.isotonic import IsotonicRegression

    # Laplace's rule for a bin where all labels agree
    edge = float(1 / (counts.sum() + 2))
    model = IsotonicRegression(y_min=edge, y_max=1 - edge).fit(logits, labels, counts)
    points = zip(model.X_thresholds_, model.y_thresholds_, strict=True)
    return tuple((float(logit), float(probability)) for logit, probability in points)
