"""Fit a calibrator on labelled evidence, with the simplest recipe that is good enough.

Cross-validation holds out whole issues, also from the choice of the recipe. Thresholds are chosen on held-out
probabilities, so their precision was reached on issues that the fit had not seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from model.calibration.calibration import Calibrator
from model.evaluation import bootstrap
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import Floats
from model.evaluation.metrics import METRICS
from model.voting.thresholds import Thresholds
from training.calibrators import held_out, recipes
from training.calibrators.claims import ClaimTargets, choose_thresholds, count_history
from training.calibrators.evidence import (
    GroupEvidence,
    PatchEvidence,
    apply_probabilities,
    drop_consensus,
    drop_votes,
    list_rows,
)
from training.calibrators.evidence_table import build_table, fit_recipe
from training.calibrators.recipes import CalibratorRecipe


@dataclass(frozen=True, slots=True, eq=False)
class CalibratorFit:
    """A fitted calibrator with its predictions on held-out issues."""

    calibrator: Calibrator
    held_out: Floats
    """Probability of each row, predicted from other issues; NaN without evidence or enough history."""
    held_out_thresholds: tuple[Thresholds, ...]
    """Thresholds for each row, chosen on other issues."""
    briers: Mapping[str, float]
    """Held-out Brier score by the name of each tried recipe; empty without enough history."""
    recipe: CalibratorRecipe | None = None
    """The chosen recipe; None without enough history."""


def fit_calibrator(
    rows: Sequence[PatchEvidence],
    *,
    fitted_at: str,
    targets: ClaimTargets | None = None,
    prior: Calibrator | None = None,
) -> CalibratorFit:
    """Fit a calibrator with the simplest good recipe, on the rows that have votes or a consensus belief.

    `fitted_at` is an ISO 8601 time that the calibrator stores. `targets` are the least precisions of claims; None takes
    the defaults. `prior` is a calibrator of other issues, which is kept unless the rows contradict it clearly. With too
    few issues or labels the calibrator gives no probability.
    """
    opinions = [row for row in rows if row.evidence.is_opinion]
    history = count_history(opinions)
    if not history.is_enough:
        nothing = Calibrator(fitted_at, history)
        return CalibratorFit(
            nothing, np.full(len(rows), np.nan), (nothing.thresholds,) * len(rows), {}
        )
    predictions = cross_validate(opinions, prior)
    recipe = select_simplest(predictions, opinions)
    calibrator = fit_recipe(opinions, recipe, history, fitted_at)
    claim_targets, probabilities_held_out = targets or ClaimTargets(), predict_held_out(rows, prior)
    return CalibratorFit(
        replace(
            calibrator, thresholds=choose_thresholds(probabilities_held_out, rows, claim_targets)
        ),
        probabilities_held_out,
        _choose_held_out_thresholds(rows, probabilities_held_out, claim_targets),
        {
            candidate.name: recipes.compute_brier(probabilities, opinions)
            for candidate, probabilities in predictions.items()
        },
        recipe,
    )


def cross_validate(
    rows: Sequence[PatchEvidence], prior: Calibrator | None = None
) -> dict[CalibratorRecipe, Floats]:
    """Predict each row's probability with each recipe that the evidence allows, fitted without the row's issue.

    The result has, by recipe, an array of probabilities in the order of `rows`, simplest recipe first.
    """
    table, weights = build_table(rows), recipes.compute_weights(rows)[None]
    candidates = recipes.list_candidates(prior)
    is_usable = held_out.find_usable(table, weights, candidates)[:, 0]
    usable = [recipe for recipe, can_use in zip(candidates, is_usable, strict=True) if can_use]
    predictions = held_out.cross_validate(table, weights, usable)
    return {recipe: held[0] for recipe, held in zip(usable, predictions, strict=True)}


def select_simplest(
    predictions: Mapping[CalibratorRecipe, Floats], rows: Sequence[PatchEvidence]
) -> CalibratorRecipe:
    """Select the simplest recipe whose held-out Brier score is within one standard error of the best.

    `predictions` has each recipe's held-out probabilities of the rows, simplest recipe first.
    """
    table, weights = build_table(rows), recipes.compute_weights(rows)[None]
    stacked = np.stack([held[None] for held in predictions.values()])
    is_usable = np.ones((len(predictions), 1), dtype=bool)
    chosen = held_out.select_simplest(stacked, table, weights, is_usable)
    return list(predictions)[int(chosen[0])]


def predict_held_out(rows: Sequence[PatchEvidence], prior: Calibrator | None = None) -> Floats:
    """Predict each row's probability with a recipe that was chosen and fitted on other issues.

    The result is an array in the order of `rows`, with NaN for a row with neither votes nor a consensus belief.
    """
    fold_of = recipes.assign_folds({row.issue for row in rows})
    kept = [index for index, row in enumerate(rows) if row.evidence.is_opinion]
    opinions = [rows[index] for index in kept]
    folds = np.asarray([fold_of[row.issue] for row in opinions], dtype=np.intp)
    table, weights = build_table(opinions), recipes.compute_weights(opinions)[None]
    predictions = np.full(len(rows), np.nan)
    predictions[kept] = held_out.predict_held_out(table, folds, weights, prior)[0]
    return predictions


def _choose_held_out_thresholds(
    rows: Sequence[PatchEvidence], probabilities: Floats, targets: ClaimTargets
) -> tuple[Thresholds, ...]:
    fold_of = recipes.assign_folds({row.issue for row in rows})
    chosen = []
    for fold in range(recipes.FOLDS):
        others = [index for index, row in enumerate(rows) if fold_of[row.issue] != fold]
        chosen.append(
            choose_thresholds(probabilities[others], [rows[index] for index in others], targets)
        )
    return tuple(chosen[fold_of[row.issue]] for row in rows)


def judge_with_held_out(groups: Sequence[GroupEvidence], fit: CalibratorFit) -> list[JudgedGroup]:
    """Return the judged groups with the held-out probabilities of `fit`, and the verdicts that follow.

    `fit` must be the fit on `list_rows(groups)`.
    """
    probabilities = [None if np.isnan(value) else float(value) for value in fit.held_out]
    return apply_probabilities(groups, probabilities, fit.held_out_thresholds)


def measure_gains(
    groups: Sequence[GroupEvidence], fit: CalibratorFit, targets: ClaimTargets
) -> dict[str, dict[str, Any]]:
    """Measure how much better a calibrator with all evidence predicts than one with a single kind of evidence.

    The result has the keys `votes` and `consensus`: the kind that predicts alone. Each holds the differences, all
    evidence minus that kind, in held-out Brier score (lower is better) and AUROC, with intervals. It is empty if the
    groups have only one kind. `fit` must be the fit on `list_rows(groups)`.
    """
    everything = judge_with_held_out(groups, fit)
    measured = {name: METRICS[name] for name in ("brier", "auroc")}
    parts = {"votes": drop_consensus(groups), "consensus": drop_votes(groups)}
    usable_parts = {
        name: part
        for name, part in parts.items()
        if any(evidence.is_opinion for case in part for evidence in case.evidence)
    }
    if len(usable_parts) < len(parts):
        return {}
    return {
        name: {
            metric: asdict(estimate)
            for metric, estimate in bootstrap.estimate_differences(
                everything,
                judge_with_held_out(
                    part, fit_calibrator(list_rows(part), fitted_at="", targets=targets)
                ),
                measured,
            ).items()
        }
        for name, part in usable_parts.items()
    }
