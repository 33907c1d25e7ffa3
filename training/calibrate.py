"""Fit a calibrator on run files: `python -m training.calibrate RUN_FILE… --out FILE`."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from typer import Argument, Option

from model.calibration import calibrator_file
from model.calibration.calibrator_file import CalibratorFile
from model.commands.exit_codes import Exit, print_json, stop
from model.commands.extras import describe_installation, require_extras
from model.errors import BadRun
from model.evaluation import bootstrap, run_file
from model.evaluation.judge_catalog import get_production_engine
from model.evaluation.judgement_columns import Floats, Indices, build_columns
from model.evaluation.metrics import METRICS
from model.evaluation.run_name import strip_suffixes
from training.calibrators import recipes
from training.calibrators.claims import ClaimTargets, number_issues
from training.calibrators.evidence import GroupEvidence, collect_evidence, list_rows
from training.calibrators.fitting import (
    CalibratorFit,
    fit_calibrator,
    judge_with_held_out,
    measure_gains,
)
from training.calibrators.reliability_diagram import bin_beliefs, draw_diagram

_COMMAND = "training.calibrate"


def main(
    runs: Annotated[list[Path], Argument(metavar="RUN_FILE…", help="Run files of `r4p evaluate`.")],
    out: Annotated[Path, Option(metavar="FILE", help="File to write the calibrator to.")],
    png: Annotated[Path | None, Option(metavar="FILE", help="File to draw the diagram to.")] = None,
    accept: Annotated[
        float, Option(min=0.5, max=1, help="Least precision of claims of correct.")
    ] = 0.8,
    reject: Annotated[
        float, Option(min=0.5, max=1, help="Least precision of claims of incorrect.")
    ] = 0.7,
) -> None:
    """Fit a calibrator on judged groups with labels, and print its quality as JSON."""
    require_extras(_COMMAND, "calibrate")
    targets = ClaimTargets(accept, reject)
    try:
        groups = collect_evidence([group for path in runs for group in run_file.read_sorted(path)])
    except (BadRun, ValueError) as error:
        stop(_COMMAND, Exit.USAGE, str(error))
    fit = fit_calibrator(
        list_rows(groups),
        fitted_at=datetime.now(UTC).isoformat(timespec="seconds"),
        targets=targets,
    )
    calibrator_file.write(out, _build_file(groups, fit))
    report = build_report(groups, fit, targets)
    print_json(report)
    if png and fit.briers:
        try:
            bins = bin_beliefs(fit.held_out, *_list_truths(groups))
            draw_diagram(bins, png)
        except ImportError:
            fix = describe_installation(["matplotlib"], "report")
            stop(_COMMAND, Exit.USAGE, f"{fix}, or leave out --png")


def _build_file(groups: Sequence[GroupEvidence], fitted: CalibratorFit) -> CalibratorFile:
    """Build the calibrator file for the judge of the groups, named as the bot names it."""
    judge = groups[0].group.key
    brier = recipes.compute_brier(fitted.held_out, list_rows(groups)) if fitted.briers else 1.0
    return CalibratorFile(
        strip_suffixes(judge.verifier),
        get_production_engine(judge.engine),
        fitted.calibrator,
        brier,
    )


def build_report(
    groups: Sequence[GroupEvidence], fitted: CalibratorFit, targets: ClaimTargets
) -> dict[str, Any]:
    """Report the quality of a calibrator on held-out issues, as JSON values."""
    calibrator = fitted.calibrator
    report: dict[str, Any] = {"history": asdict(calibrator.history), "enough": bool(fitted.briers)}
    if not fitted.briers:
        return report
    judged = judge_with_held_out(groups, fitted)
    shown = ("brier", "auroc", "ece", "accuracy", "f1", "exact_match", "best_of_group")
    claims = ("claimed", "claimed_accuracy", "precision")
    measured = {name: METRICS[name] for name in (*shown, *claims)}
    estimates = bootstrap.estimate_metrics(
        build_columns(judged), bootstrap.index_issues(judged), measured
    )
    labels, issues = _list_truths(groups)
    return report | {
        "recipe": fitted.recipe and fitted.recipe.name,
        "held_out_brier": fitted.briers,
        "weights": calibrator.weights,
        "thresholds": asdict(calibrator.thresholds),
        "held_out": {name: asdict(item) for name, item in estimates.items()},
        "gain_over": measure_gains(groups, fitted, targets),
        "reliability": [asdict(item) for item in bin_beliefs(fitted.held_out, labels, issues)],
    }


def _list_truths(groups: Sequence[GroupEvidence]) -> tuple[Floats, Indices]:
    """List the label and the issue number of each patch."""
    rows = list_rows(groups)
    labels = np.asarray([row.correct for row in rows], dtype=np.float64)
    return labels, number_issues(rows)


if __name__ == "__main__":
    typer.run(main)
