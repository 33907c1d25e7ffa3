"""Predict patches from other issues, under many sets of weights at once.

Arrays have a row per set of weights (S) and a column per patch (n).
"""

from collections.abc import Sequence

import numpy as np

from model.calibration.calibration import Calibrator
from model.evaluation.judgement_columns import Floats, Indices
from training.calibrators.evidence_table import EvidenceTable, sum_training
from training.calibrators.recipes import FOLDS, CalibratorRecipe, list_candidates
from training.calibrators.regression import Mask, sum_groups


def cross_validate(
    table: EvidenceTable, weights: Floats, candidates: Sequence[CalibratorRecipe]
) -> Floats:
    """Predict each patch by each recipe, fitted without the patch's issue (recipes x S x n)."""
    predictions = np.full((len(candidates), *weights.shape), np.nan)
    for fold in range(FOLDS):
        is_held = table.folds == fold
        sums = sum_training(table, weights, ~is_held)
        for index, recipe in enumerate(candidates):
            predictions[index][:, is_held] = sums.predict(recipe, table.kinds[is_held])
    return predictions


def find_usable(
    table: EvidenceTable, weights: Floats, candidates: Sequence[CalibratorRecipe]
) -> Mask:
    """Find which recipes the evidence of each set of weights allows (recipes x S).

    A recipe with one or two features needs at least one patch with each feature. The recipe that uses the consensus
    belief without a fit needs that belief for every patch.
    """
    is_weighed = weights > 0
    has = {
        "votes": (is_weighed & table.has_votes).any(axis=1),
        "consensus": (is_weighed & table.has_consensus).any(axis=1),
    }
    is_everywhere = (~is_weighed | table.has_consensus).all(axis=1)
    usable = np.ones((len(candidates), len(weights)), dtype=bool)
    for index, recipe in enumerate(candidates):
        if len(recipe.features) <= len(has):
            for name in recipe.features:
                usable[index] &= has[name]
        if not recipe.is_fitted and recipe.prior is None:
            usable[index] &= is_everywhere
    return usable


def select_simplest(
    predictions: Floats, table: EvidenceTable, weights: Floats, is_usable: Mask
) -> Indices:
    """Select for each set of weights the simplest recipe whose Brier score is within one standard error of the best.

    `predictions` (recipes x S x n) are held-out ones, simplest recipe first. The standard error is over issues. Returns
    the number of the recipe (S).
    """
    losses = np.stack(
        [sum_groups(weights * (held - table.labels) ** 2, table.issues) for held in predictions]
    )
    best = np.where(is_usable, losses.sum(axis=2), np.inf).argmin(axis=0)
    more = losses - losses[best, np.arange(len(weights))]
    errors = more.std(axis=2, ddof=1) / np.sqrt(more.shape[2])
    simplest: Indices = (is_usable & (more.mean(axis=2) <= errors)).argmax(axis=0)
    return simplest


def predict_held_out(
    table: EvidenceTable, folds: Indices, weights: Floats, prior: Calibrator | None = None
) -> Floats:
    """Predict each patch by a recipe that was chosen and fitted on other issues (S x n).

    `folds` has the fold of each patch.
    """
    candidates = list_candidates(prior)
    predictions = np.full(weights.shape, np.nan)
    for fold in range(FOLDS):
        is_held = folds == fold
        rest, kept = table.select(~is_held), weights[:, ~is_held]
        inner = cross_validate(rest, kept, candidates)
        chosen = select_simplest(inner, rest, kept, find_usable(rest, kept, candidates))
        for index in np.unique(chosen):
            sets = np.flatnonzero(chosen == index)
            sums = sum_training(table, weights[sets], ~is_held)
            believed = sums.predict(candidates[index], table.kinds[is_held])
            predictions[np.ix_(sets, is_held)] = believed
    return predictions
