"""Fits a calibrator on labelled evidence, in seconds, by the simplest recipe that is good enough on held-out issues.

Issues are held out whole, also from the choice of the recipe, and thresholds are chosen on the held-out probabilities,
so that what a calibrator promises was kept on issues it had not seen.
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
from model.evaluation.wilson import wilson
from model.voting.thresholds import Thresholds
from training.calibrators import recipes
from training.calibrators.evidence import (
    GroupEvidence,
    Row,
    rows,
    with_probabilities,
    without_consensus,
    without_votes,
)
from training.calibrators.recipes import CalibratorRecipe
from training.calibrators.reliability_diagram import worth

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Targets:
    """How often a claim has to be true, as the lower bound of a 95 % Wilson interval. A false accept costs the most."""

    accept: float = 0.8
    reject: float = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A calibrator, with what shows that it deserves trust."""

    calibrator: Calibrator
    held_out: Floats
    """For each row, the probability by a recipe chosen and fitted without its issue; NaN where there is none."""
    held_out_thresholds: tuple[Thresholds, ...]
    """For each row, the thresholds that other issues would have had chosen."""
    briers: Mapping[str, float]
    """Held-out Brier score of each recipe that was tried; empty without enough history."""
    recipe: CalibratorRecipe | None = None
    """The one that was taken."""


def fit(of: Sequence[Row], *, fitted_at: str, targets: Targets | None = None) -> Fit:
    """By the simplest recipe that is good enough, on every row that has an opinion; too little history it only states."""
    told = [row for row in of if row.evidence.is_opinion]
    history = _history(told)
    if not history.is_enough:
        nothing = Calibrator(fitted_at, history)
        return Fit(nothing, np.full(len(of), np.nan), (nothing.thresholds,) * len(of), {})
    tried = recipes.tried(told)
    recipe = recipes.simplest(tried, told)
    calibrator = recipes.fitted(told, recipe, history, fitted_at)
    promised, found = targets or Targets(), held_out(of)
    return Fit(
        replace(calibrator, thresholds=thresholds(found, of, promised)),
        found,
        _held_out_thresholds(of, found, promised),
        {one.name: recipes.brier(probabilities, told) for one, probabilities in tried.items()},
        recipe,
    )


def held_out(of: Sequence[Row]) -> Floats:
    """For each row, the probability by a recipe that was chosen and fitted on other issues; NaN where it has none."""
    fold_of = recipes.folds({row.issue for row in of})
    told = [row for row in of if row.evidence.is_opinion]
    history = _history(told)
    found = np.full(len(of), np.nan)
    for fold in range(recipes.FOLDS):
        others = [row for row in told if fold_of[row.issue] != fold]
        recipe = recipes.simplest(recipes.tried(others), others)
        calibrator = recipes.fitted(others, recipe, history, "")
        for at, row in enumerate(of):
            if fold_of[row.issue] == fold and row.evidence.is_opinion:
                found[at] = calibrator.probability(row.evidence)
    return found


def thresholds(probabilities: Floats, of: Sequence[Row], targets: Targets) -> Thresholds:
    """The bounds that claim the most while each side's Wilson lower bound meets its target.

    Correct is claimed only above a half, incorrect only below; a side that can't meet its target claims nothing.
    """
    labels = np.asarray([row.correct for row in of], dtype=np.float64)
    falling = np.unique(probabilities[probabilities > 0.5])[::-1]
    rising = np.unique(probabilities[probabilities < 0.5])
    accepted = ((bound, probabilities >= bound) for bound in falling)
    rejected = ((bound, probabilities <= bound) for bound in rising)
    return Thresholds(
        _furthest(accepted, labels, of, targets.accept),
        _furthest(rejected, 1 - labels, of, targets.reject),
    )


def _held_out_thresholds(
    of: Sequence[Row], probabilities: Floats, targets: Targets
) -> tuple[Thresholds, ...]:
    fold_of = recipes.folds({row.issue for row in of})
    chosen = []
    for fold in range(recipes.FOLDS):
        others = [at for at, row in enumerate(of) if fold_of[row.issue] != fold]
        chosen.append(thresholds(probabilities[others], [of[at] for at in others], targets))
    return tuple(chosen[fold_of[row.issue]] for row in of)


def _furthest(
    claims: Iterable[tuple[float, Mask]], true: Floats, of: Sequence[Row], target: float
) -> float | None:
    """The last bound, from the surest on, whose claims are true often enough."""
    counts, issues = recipes.weights(of), number_issues(of)
    reached = None
    for bound, claimed in claims:
        share = float(np.average(true[claimed], weights=counts[claimed]))
        trials = worth(counts[claimed], issues[claimed])
        if wilson(share * trials, trials)[0] >= target:
            reached = float(bound)
    return reached


def number_issues(of: Sequence[Row]) -> Indices:
    """The number of each row's issue."""
    return np.unique([row.issue for row in of], return_inverse=True)[1]


def _history(rows: Iterable[Row]) -> History:
    """What there is to learn from; rows that count half are half a patch, rounded down."""
    kept = list(rows)
    correct = sum(row.weight for row in kept if row.correct)
    incorrect = sum(row.weight for row in kept if not row.correct)
    return History(len({row.issue for row in kept}), int(correct), int(incorrect))


def judged_with(of: Sequence[GroupEvidence], fitted: Fit) -> list[JudgedGroup]:
    """The groups as judged with the held-out probabilities of a fit on `rows(of)`: what people would have been shown."""
    found = [None if np.isnan(one) else float(one) for one in fitted.held_out]
    return with_probabilities(of, found, fitted.held_out_thresholds)


def gains(of: Sequence[GroupEvidence], fitted: Fit, targets: Targets) -> dict[str, dict[str, Any]]:
    """What all evidence together has more than a part of it: held-out Brier and AUROC, paired, with their intervals.

    A lower Brier score is better. Empty when there is only one kind of evidence.
    """
    everything = judged_with(of, fitted)
    measured = {name: METRICS[name] for name in ("brier", "auroc")}
    parts = {"votes": without_consensus(of), "consensus": without_votes(of)}
    told = {
        name: part
        for name, part in parts.items()
        if any(one.is_opinion for case in part for one in case.evidence)
    }
    if len(told) < len(parts):
        return {}
    return {
        name: {
            metric: asdict(found)
            for metric, found in bootstrap.differences(
                everything,
                judged_with(part, fit(rows(part), fitted_at="", targets=targets)),
                measured,
            ).items()
        }
        for name, part in told.items()
    }
