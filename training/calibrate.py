"""Fits a calibrator on labelled evidence, in seconds: Platt or isotonic, whichever has the lower held-out Brier score.

Issues are held out whole, and thresholds are chosen on the held-out probabilities, so that what a calibrator promises
was kept on issues it had not seen. `python -m training.calibrate RUN_FILE… --out FILE` fits on run files of
`r4p evaluate`.
"""

import hashlib
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
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from model.calibration import (
    FEATURES,
    MONOTONE,
    Calibrator,
    History,
    Kind,
    features,
    to_json,
)
from model.errors import BadRun
from model.evaluation import bootstrap, run_file
from model.evaluation.columns import Floats, columns
from model.evaluation.judged import JudgedGroup
from model.evaluation.metrics import METRICS
from model.thresholds import Thresholds
from training.evidence import (
    Case,
    Row,
    cases,
    rows,
    with_probabilities,
    without_consensus,
    without_votes,
)
from training.reliability import diagram, draw, wilson

FOLDS = 5


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
    """For each row, the probability by a fit that never saw its issue; NaN where there is none."""
    held_out_thresholds: tuple[Thresholds, ...]
    """For each row, the thresholds that other issues would have had chosen."""
    briers: Mapping[Kind, float]
    """Held-out Brier score of each kind; empty without enough history."""


def fit(of: Sequence[Row], *, fitted_at: str, targets: Targets | None = None) -> Fit:
    """The better kind, fitted on every row that has an opinion. With too little history it knows that, and no more."""
    told = [row for row in of if row.evidence.is_opinion]
    history = _history(told)
    if not history.is_enough:
        nothing = Calibrator(fitted_at, history)
        return Fit(nothing, np.full(len(of), np.nan), (nothing.thresholds,) * len(of), {})
    tried = {kind: held_out(of, kind) for kind in Kind}
    labels = np.asarray([row.correct for row in of], dtype=np.float64)
    briers = {kind: float(np.nanmean((found - labels) ** 2)) for kind, found in tried.items()}
    kind = min(Kind, key=lambda one: (briers[one], one is Kind.ISOTONIC))
    promised = targets or Targets()
    calibrator = replace(
        _fitted(told, kind, history, fitted_at),
        thresholds=thresholds(tried[kind], labels, promised),
    )
    return Fit(calibrator, tried[kind], _held_out_thresholds(of, tried[kind], promised), briers)


def held_out(of: Sequence[Row], kind: Kind) -> Floats:
    """For each row, the probability by a calibrator fitted on other issues; NaN where it has none."""
    fold_of = _folds({row.issue for row in of})
    told = [row for row in of if row.evidence.is_opinion]
    history = _history(told)
    found = np.full(len(of), np.nan)
    for fold in range(FOLDS):
        others = [row for row in told if fold_of[row.issue] != fold]
        calibrator = _fitted(others, kind, history, "")
        for at, row in enumerate(of):
            if fold_of[row.issue] == fold:
                probability = calibrator.probability(row.evidence)
                found[at] = np.nan if probability is None else probability
    return found


def thresholds(probabilities: Floats, labels: Floats, targets: Targets) -> Thresholds:
    """The bounds that claim the most while each side's Wilson lower bound meets its target.

    Correct is claimed only above a half, incorrect only below; a side that can't meet its target claims nothing.
    """
    falling = np.unique(probabilities[probabilities > 0.5])[::-1]
    rising = np.unique(probabilities[probabilities < 0.5])
    accepted = ((bound, labels[probabilities >= bound]) for bound in falling)
    rejected = ((bound, 1 - labels[probabilities <= bound]) for bound in rising)
    return Thresholds(_furthest(accepted, targets.accept), _furthest(rejected, targets.reject))


def _held_out_thresholds(
    of: Sequence[Row], probabilities: Floats, targets: Targets
) -> tuple[Thresholds, ...]:
    fold_of = _folds({row.issue for row in of})
    folds = np.asarray([fold_of[row.issue] for row in of])
    labels = np.asarray([row.correct for row in of], dtype=np.float64)
    chosen = [
        thresholds(probabilities[folds != fold], labels[folds != fold], targets)
        for fold in range(FOLDS)
    ]
    return tuple(chosen[fold] for fold in folds)


def _furthest(claims: Iterable[tuple[float, Floats]], target: float) -> float | None:
    """The last bound, from the surest on, whose claims are true often enough."""
    reached = None
    for bound, true in claims:
        if wilson(float(true.sum()), len(true))[0] >= target:
            reached = float(bound)
    return reached


def _history(rows: Iterable[Row]) -> History:
    kept = list(rows)
    correct = sum(row.correct for row in kept)
    return History(len({row.issue for row in kept}), correct, len(kept) - correct)


def _folds(issues: Iterable[str]) -> dict[str, int]:
    """A fold for each issue, by its hash: the same however the rows are ordered."""
    drawn = sorted(issues, key=lambda issue: hashlib.sha256(issue.encode()).digest())
    return {issue: at % FOLDS for at, issue in enumerate(drawn)}


def _fitted(rows: Sequence[Row], kind: Kind, history: History, fitted_at: str) -> Calibrator:
    labels = np.asarray([row.correct for row in rows])
    known = [features(row.evidence) for row in rows]
    weights, intercept = _logistic(known, labels, list(FEATURES))
    platt = Calibrator(fitted_at, history, weights=weights, intercept=intercept)
    if kind is Kind.PLATT:
        return platt
    logits = [intercept + sum(w * one[name] for name, w in weights.items()) for one in known]
    return replace(platt, kind=Kind.ISOTONIC, curve=_isotonic(np.asarray(logits), labels))


def _logistic(
    known: Sequence[Mapping[str, float]], labels: NDArray[np.bool_], names: list[str]
) -> tuple[dict[str, float], float]:
    """Weights of the features that vary, on their own scale, and the intercept.

    Evidence for a patch that the fit would hold against it is left out: on a few issues a weak verifier seems to be
    right by being wrong, and the next issues take that back.
    """
    names = [name for name in names if len({one[name] for one in known}) > 1]
    table = np.asarray([[one[name] for name in names] for one in known])
    if not names or labels.all() or not labels.any():
        share = (labels.sum() + 1) / (len(labels) + 2)
        return {}, float(np.log(share / (1 - share)))
    middle, spread = table.mean(axis=0), table.std(axis=0)
    model = LogisticRegression(max_iter=1_000).fit((table - middle) / spread, labels)
    weights = model.coef_[0] / spread
    if wrong := [
        name for name, w in zip(names, weights, strict=True) if name in MONOTONE and w < 0
    ]:
        return _logistic(known, labels, [name for name in names if name not in wrong])
    intercept = float(model.intercept_[0] - weights @ middle)
    return dict(zip(names, map(float, weights), strict=True)), intercept


def _isotonic(logits: Floats, labels: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """The rising curve nearest to the labels, never quite 0 or 1: no finite history proves that."""
    edge = 1 / (len(labels) + 2)
    model = IsotonicRegression(y_min=edge, y_max=1 - edge).fit(logits, labels)
    points = zip(model.X_thresholds_, model.y_thresholds_, strict=True)
    return tuple((float(logit), float(probability)) for logit, probability in points)


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
    labels = np.asarray([row.correct for row in rows(of)], dtype=np.float64)
    return known | {
        "kind": calibrator.kind,
        "held_out_brier": fitted.briers,
        "weights": calibrator.weights,
        "thresholds": asdict(calibrator.thresholds),
        "held_out": {name: asdict(one) for name, one in found.items()},
        "gain_over": gains(of, fitted, targets),
        "reliability": [asdict(one) for one in diagram(fitted.held_out, labels)],
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
    targets = Targets(accept, reject)
    try:
        of = cases([group for path in runs for group in run_file.read(path)])
    except (BadRun, ValueError) as error:
        _stop(str(error))
    fitted = fit(
        rows(of), fitted_at=datetime.now(UTC).isoformat(timespec="seconds"), targets=targets
    )
    out.write_text(json.dumps(to_json(fitted.calibrator), indent=2) + "\n")
    said = report(of, fitted, targets)
    sys.stdout.write(json.dumps(said, indent=2) + "\n")
    if png and fitted.briers:
        labels = np.asarray([row.correct for row in rows(of)], dtype=np.float64)
        try:
            draw(diagram(fitted.held_out, labels), "Reliability on held-out issues", png)
        except ImportError:
            _stop("the diagram needs matplotlib: install it, or leave out --png")


def _stop(message: str) -> NoReturn:
    typer.echo(f"training.calibrate: {message}", err=True)
    raise typer.Exit(2)


if __name__ == "__main__":
    typer.run(main)
