"""Fit a calibrator on labelled evidence, with the simplest recipe that is good enough.

Cross-validation holds out whole issues, also from the choice of the recipe. Thresholds are chosen on held-out
probabilities, so their precision was reached on issues that the fit had not seen.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.calibration.calibration import Calibrator, History
from model.evaluation import bootstrap
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import Floats, Indices
from model.evaluation.metrics import METRICS
from model.evaluation.wilson import compute_wilson_interval
from model.voting.thresholds import Thresholds
from training.calibrators import recipes
from training.calibrators.evidence import (
    GroupEvidence,
    PatchEvidence,
    apply_probabilities,
    drop_consensus,
    drop_votes,
    list_rows,
)
from training.calibrators.recipes import CalibratorRecipe
from training.calibrators.reliability_diagram import count_effective_trials

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ClaimTargets:
    """The least precision of claims, which the lower bound of a 95 % Wilson interval must reach."""

    accept: float = 0.8
    """For verdicts of correct. It is higher, because a false accept costs most."""
    reject: float = 0.7
    """For verdicts of incorrect."""


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
    predictions = recipes.cross_validate(opinions, prior)
    recipe = recipes.select_simplest(predictions, opinions)
    calibrator = recipes.fit_recipe(opinions, recipe, history, fitted_at)
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


def predict_held_out(rows: Sequence[PatchEvidence], prior: Calibrator | None = None) -> Floats:
    """Predict each row's probability with a recipe that was chosen and fitted on other issues.

    The result is an array in the order of `rows`, with NaN for a row with neither votes nor a consensus belief.
    """
    fold_of = recipes.assign_folds({row.issue for row in rows})
    opinions = [row for row in rows if row.evidence.is_opinion]
    history = count_history(opinions)
    predictions = np.full(len(rows), np.nan)
    for fold in range(recipes.FOLDS):
        others = [row for row in opinions if fold_of[row.issue] != fold]
        recipe = recipes.select_simplest(recipes.cross_validate(others, prior), others)
        calibrator = recipes.fit_recipe(others, recipe, history, "")
        for index, row in enumerate(rows):
            if fold_of[row.issue] == fold and row.evidence.is_opinion:
                predictions[index] = calibrator.predict_probability(row.evidence)
    return predictions


def choose_thresholds(
    probabilities: Floats, rows: Sequence[PatchEvidence], targets: ClaimTargets
) -> Thresholds:
    """Choose the thresholds that claim most, while claims of correct and of incorrect each reach their target.

    A target is compared with the Wilson lower bound of the precision on these `rows`, whose probabilities are
    `probabilities`. `correct` needs a probability above 0.5, `incorrect` one below. A side that cannot reach its target
    claims nothing.
    """
    labels = np.asarray([row.correct for row in rows], dtype=np.float64)
    # from the most certain bound to the least
    bounds = np.unique(probabilities[recipes.compute_weights(rows) > 0])
    falling, rising = bounds[bounds > 0.5][::-1], bounds[bounds < 0.5]
    accepted = ((bound, probabilities >= bound) for bound in falling)
    rejected = ((bound, probabilities <= bound) for bound in rising)
    return Thresholds(
        _find_furthest_bound(accepted, labels, rows, targets.accept),
        _find_furthest_bound(rejected, 1 - labels, rows, targets.reject),
    )


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


def _find_furthest_bound(
    claims: Iterable[tuple[float, Mask]], true: Floats, rows: Sequence[PatchEvidence], target: float
) -> float | None:
    """Find the last bound, from the most certain one, whose claims meet the target."""
    counts, issues = recipes.compute_weights(rows), number_issues(rows)
    reached = None
    for bound, claimed in claims:
        share = float(np.average(true[claimed], weights=counts[claimed]))
        trials = count_effective_trials(counts[claimed], issues[claimed])
        if compute_wilson_interval(share * trials, trials)[0] >= target:
            reached = float(bound)
    return reached


def number_issues(rows: Sequence[PatchEvidence]) -> Indices:
    """Return an array with the issue number of each row: equal for rows of the same issue."""
    return np.unique([row.issue for row in rows], return_inverse=True)[1]


def count_history(rows: Iterable[PatchEvidence]) -> History:
    """Count the issues and patches of rows that weigh anything. Weights are summed and rounded down."""
    kept = [row for row in rows if row.weight]
    correct = sum(row.weight for row in kept if row.correct)
    incorrect = sum(row.weight for row in kept if not row.correct)
    return History(len({row.issue for row in kept}), int(correct), int(incorrect))


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
