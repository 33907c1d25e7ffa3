"""Labelled evidence as columns, and the regressions on it under many sets of weights at once.

A set of weights without one owner gives the fit without that owner's labels. Arrays have a row per set of weights (S).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from model.calibration.calibration import (
    FEATURES,
    MONOTONE,
    CalibrationMethod,
    Calibrator,
    History,
    build_features,
)
from model.evaluation.judgement_columns import Floats, Indices
from training.calibrators.evidence import PatchEvidence
from training.calibrators.recipes import FOLDS, CalibratorRecipe, compute_weights, sort_issues
from training.calibrators.regression import (
    Mask,
    compute_sigmoid,
    fit_curve,
    fit_logistic,
    sum_groups,
)


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceTable:
    """Labelled evidence as columns, with an item per patch."""

    features: Floats
    """The features of each kind of evidence (U x k)."""
    kinds: Indices
    """The row in `features`."""
    labels: Floats
    issues: Indices
    """A number from 0 for each issue, without a gap, in the order of `assign_folds`."""
    has_votes: Mask
    has_consensus: Mask

    @property
    def folds(self) -> Indices:
        """The cross-validation fold of each patch."""
        return self.issues % FOLDS

    def select(self, kept: Mask) -> "EvidenceTable":
        """Return the table of the kept patches, whose folds are assigned anew."""
        return EvidenceTable(
            self.features,
            self.kinds[kept],
            self.labels[kept],
            np.unique(self.issues[kept], return_inverse=True)[1],
            self.has_votes[kept],
            self.has_consensus[kept],
        )


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSums:
    """The weights of some patches of a table by kind of evidence, and the regressions fitted on them."""

    features: Floats
    """The features of each kind of evidence, also of kinds without a patch here."""
    kinds: Indices
    """The kinds of evidence of these patches (U)."""
    totals: Floats
    """Weight of the patches of each of these kinds (S x U)."""
    positives: Floats
    """Weight of the correct ones."""
    fitted: dict[tuple[str, ...], Floats] = field(default_factory=dict)

    def predict(self, recipe: CalibratorRecipe, kinds: Indices) -> Floats:
        """Predict the probability of evidence of the given kinds by each fit of the recipe (S x kinds)."""
        if recipe.prior is not None:
            believed = apply_calibrator(recipe.prior, self.features[kinds])
            return np.tile(believed, (len(self.totals), 1))
        columns = [FEATURES.index(name) for name in recipe.features]
        if not recipe.is_fitted:
            believed = compute_sigmoid(self.features[kinds][:, columns].sum(axis=1))
            return np.tile(believed, (len(self.totals), 1))
        coefficients = self.fit_coefficients(recipe.features)
        logits = coefficients[:, :-1] @ self.features[:, columns].T + coefficients[:, -1:]
        if recipe.kind is CalibrationMethod.PLATT:
            return compute_sigmoid(logits[:, kinds])
        # sorted for the first set of weights, the others are nearly sorted, too
        order = np.argsort(logits[0, self.kinds])
        sums = self.totals[:, order], self.positives[:, order]
        curves = map(fit_curve, logits[:, self.kinds[order]], *sums)
        points = zip(logits[:, kinds], curves, strict=True)
        return np.stack([np.interp(logit, *curve) for logit, curve in points])

    def fit_coefficients(self, names: tuple[str, ...]) -> Floats:
        """Fit a logistic regression on these features, once: their weights, then the intercept (S x (k + 1))."""
        if names not in self.fitted:
            columns = [FEATURES.index(name) for name in names]
            is_rising = np.asarray([name in MONOTONE for name in names])
            table = self.features[self.kinds][:, columns]
            self.fitted[names] = fit_logistic(table, self.totals, self.positives, is_rising)
        return self.fitted[names]


def build_table(rows: Sequence[PatchEvidence]) -> EvidenceTable:
    """Build the table of rows that all have an opinion."""
    built = [tuple(build_features(row.evidence).values()) for row in rows]
    features, kinds = np.unique(
        np.asarray(built).reshape(len(rows), len(FEATURES)), axis=0, return_inverse=True
    )
    numbers = {issue: number for number, issue in enumerate(sort_issues(row.issue for row in rows))}
    return EvidenceTable(
        features,
        kinds.reshape(-1),
        np.asarray([row.correct for row in rows], dtype=np.float64),
        np.asarray([numbers[row.issue] for row in rows], dtype=np.intp),
        np.asarray([row.evidence.score is not None for row in rows], dtype=bool),
        np.asarray([row.evidence.consensus is not None for row in rows], dtype=bool),
    )


def sum_training(table: EvidenceTable, weights: Floats, is_trained: Mask) -> TrainingSums:
    """Sum the weights (S x n) of the patches that are trained on."""
    kinds, groups = np.unique(table.kinds[is_trained], return_inverse=True)
    kept = weights[:, is_trained]
    positives = sum_groups(kept * table.labels[is_trained], groups)
    return TrainingSums(table.features, kinds, sum_groups(kept, groups), positives)


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
    kept = [row for row in rows if row.weight]
    table = build_table(kept)
    sums = sum_training(table, compute_weights(kept)[None], np.ones(len(kept), dtype=bool))
    *weights, intercept = map(float, sums.fit_coefficients(recipe.features)[0])
    learnt = {name: w for name, w in zip(recipe.features, weights, strict=True) if w}
    platt = Calibrator(fitted_at, history, weights=learnt, intercept=intercept)
    if recipe.kind is CalibrationMethod.PLATT:
        return platt
    points, heights = fit_curve(
        _compute_logits(platt, table.features[sums.kinds]), sums.totals[0], sums.positives[0]
    )
    # points inside a level part of the curve say nothing
    is_kept = np.ones(len(points), dtype=bool)
    is_kept[1:-1] = (heights[1:-1] != heights[:-2]) | (heights[1:-1] != heights[2:])
    curve = tuple(zip(points[is_kept].tolist(), heights[is_kept].tolist(), strict=True))
    return replace(platt, kind=CalibrationMethod.ISOTONIC, curve=curve)


def apply_calibrator(calibrator: Calibrator, features: Floats) -> Floats:
    """Compute the probability of each row of features, whatever history the calibrator has."""
    logits = _compute_logits(calibrator, features)
    if calibrator.kind is CalibrationMethod.ISOTONIC:
        points, heights = zip(*calibrator.curve, strict=True)
        return np.asarray(np.interp(logits, points, heights), dtype=np.float64)
    return compute_sigmoid(logits)


def _compute_logits(calibrator: Calibrator, features: Floats) -> Floats:
    columns = [FEATURES.index(name) for name in calibrator.weights]
    weights = np.asarray(list(calibrator.weights.values()), dtype=np.float64)
    logits: Floats = np.asarray(features[:, columns] @ weights, dtype=np.float64)
    return logits + calibrator.intercept
