"""Fit a calibrator on run files of `r4p evaluate`: `python -m training.calibrate RUN_FILE… --out FILE`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import typer

from model.calibration import calibrator_file
from model.calibration.calibrator_file import CalibratorFile
from model.commands.extras import advice, require
from model.errors import BadRun
from model.evaluation import bootstrap, run_file
from model.evaluation.judge_catalog import everyday, plain
from model.evaluation.judgement_columns import Floats, Indices, columns
from model.evaluation.metrics import METRICS
from training.calibrators import recipes
from training.calibrators.evidence import (
    GroupEvidence,
    cases,
    rows,
)
from training.calibrators.fitting import Fit, Targets, fit, gains, judged_with, number_issues
from training.calibrators.reliability_diagram import diagram, draw

_COMMAND = "training.calibrate"


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
    require(_COMMAND, "calibrate")
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


def _kept(of: Sequence[GroupEvidence], fitted: Fit) -> CalibratorFile:
    """With the judge that the groups are judged by, named as who uses it will know it."""
    judge = of[0].group.key
    brier = recipes.brier(fitted.held_out, rows(of)) if fitted.briers else 1.0
    return CalibratorFile(plain(judge.verifier), everyday(judge.engine), fitted.calibrator, brier)


def report(of: Sequence[GroupEvidence], fitted: Fit, targets: Targets) -> dict[str, Any]:
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


def _truths(of: Sequence[GroupEvidence]) -> tuple[Floats, Indices]:
    """Of each patch, whether it is correct, and the number of its issue."""
    told = rows(of)
    labels = np.asarray([row.correct for row in told], dtype=np.float64)
    return labels, number_issues(told)


def _stop(message: str) -> NoReturn:
    typer.echo(f"{_COMMAND}: {message}", err=True)
    raise typer.Exit(2)


if __name__ == "__main__":
    typer.run(main)
