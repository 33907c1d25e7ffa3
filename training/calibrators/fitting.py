"""Fits a calibrator on labelled evidence, in seconds, by the simplest recipe that is good enough on held-out issues.

Issues are held out whole, also from the choice of the recipe, and thresholds are chosen on the held-out probabilities,
so that what a calibrator promises was kept on issues it had not seen. `python -m training.calibrators.fitting RUN_FILE… --out
FILE` fits on run files of `r4p evaluate`.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import typer
from numpy.typing import NDArray

from model.calibration import calibrator_file
from model.calibration.calibration import Calibrator, History
from model.calibration.calibrator_file import KeptCalibrator
from model.commands.extras import advice, require
from model.errors import BadRun
from model.evaluation import bootstrap, run_file
from model.evaluation.judge_catalog import everyday, plain
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import Floats, Indices, columns
from model.evaluation.metrics import METRICS
from model.evaluation.wilson import wilson
from model.voting.thresholds import Thresholds
from training.calibrators import recipes
from training.calibrators.evidence import (
    Case,
    Row,
    cases,
    rows,
    with_probabilities,
    without_consensus,
    without_votes,
)
from training.calibrators.recipes import Recipe
from training.calibrators.reliability_diagram import diagram, draw, worth

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
    recipe: Recipe | None = None
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
    counts, issues = recipes.weights(of), _issues(of)
    reached = None
    for bound, claimed in claims:
        share = float(np.average(true[claimed], weights=counts[claimed]))
        trials = worth(counts[claimed], issues[claimed])
        if wilson(share * trials, trials)[0] >= target:
            reached = float(bound)
    return reached


def _issues(of: Sequence[Row]) -> Indices:
    """The number of each row's issue."""
    return np.unique([row.issue for row in of], return_inverse=True)[1]


def _history(rows: Iterable[Row]) -> History:
    """What there is to learn from; rows that count half are half a patch, rounded down."""
    kept = list(rows)
    correct = sum(row.weight for row in kept if row.correct)
    incorrect = sum(row.weight for row in kept if not row.correct)
    return History(len({row.issue for row in kept}), int(correct), int(incorrect))


def judged_with(of: Sequence[Case], fitted: Fit) -> list[JudgedGroup]:
    """The groups as judged with the held-out probabilities of a fit on `rows(of)`: what people would have been shown."""
    found = [None if np.isnan(one) else float(one) for one in fitted.held_out]
    return with_probabilities(of, found, fitted.held_out_thresholds)


def gains(of: Sequence[Case], fitted: Fit, targets: Targets) -> dict[str, dict[str, Any]]:
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


def report(of: Sequence[Case], fitted: Fit, targets: Targets) -> dict[str, Any]:
    """How good the calibrator is on issues it had not seen, as plain JSON values."""
    calibrator = fitted.calibrator
    known: dict[str, Any] = {"history": asdict(calibrator.history), "enough": bool(fitted.briers)}
    if not fitted.briers:
        return known
    judged = judged_with(of, fitted)
    shown = ("brier", "auroc", "ece", "accuracy", "f1", "exact_match", "best_of_group")
    claims = ("claimed", "claimed_accuracy", "precision")
    measured = {name: METRICS[name] for name in (*shown, *claims)}
    found = bootstrap.estimates(columns(judged), bootstrap.issues(judged), measured)
    labels, issues = _truths(of)
    return known | {
        "recipe": fitted.recipe and fitted.recipe.name,
        "held_out_brier": fitted.briers,
        "weights": calibrator.weights,
        "thresholds": asdict(calibrator.thresholds),
        "held_out": {name: asdict(one) for name, one in found.items()},
        "gain_over": gains(of, fitted, targets),
        "reliability": [asdict(one) for one in diagram(fitted.held_out, labels, issues)],
    }


def main(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN_FILE…", help="Of `r4p evaluate`.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the calibrator is written.")],
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the diagram is drawn.")
    ] = None,
    accept: Annotated[float, typer.Option(min=0.5, max=1, help="Precision of accepting.")] = 0.8,
    reject: Annotated[float, typer.Option(min=0.5, max=1, help="Precision of rejecting.")] = 0.7,
) -> None:
    """Fit a calibrator on what verifiers said of labelled groups; prints how good it is as JSON."""
    require("training.calibrators.fitting", "calibrate")
    targets = Targets(accept, reject)
    try:
        of = cases([group for path in runs for group in run_file.in_order(path)])
    except (BadRun, ValueError) as error:
        _stop(str(error))
    fitted = fit(
        rows(of), fitted_at=datetime.now(UTC).isoformat(timespec="seconds"), targets=targets
    )
    calibrator_file.write(out, _kept(of, fitted))
    said = report(of, fitted, targets)
    sys.stdout.write(json.dumps(said, indent=2) + "\n")
    if png and fitted.briers:
        try:
            bins = diagram(fitted.held_out, *_truths(of))
            draw(bins, "Reliability on held-out issues", png)
        except ImportError:
            _stop(f"{advice(['matplotlib'], 'report')}, or leave out --png")


def _kept(of: Sequence[Case], fitted: Fit) -> KeptCalibrator:
    """With the judge that the groups are judged by, named as who uses it will know it."""
    judge = of[0].group.key
    brier = recipes.brier(fitted.held_out, rows(of)) if fitted.briers else 1.0
    return KeptCalibrator(plain(judge.verifier), everyday(judge.engine), fitted.calibrator, brier)


def _truths(of: Sequence[Case]) -> tuple[Floats, Indices]:
    """Of each patch, whether it is correct, and the number of its issue."""
    told = rows(of)
    labels = np.asarray([row.correct for row in told], dtype=np.float64)
    return labels, _issues(told)


def _stop(message: str) -> NoReturn:
    typer.echo(f"training.calibrators.fitting: {message}", err=True)
    raise typer.Exit(2)


if __name__ == "__main__":
    typer.run(main)
