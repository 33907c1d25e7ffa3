"""Fits that run together give the thresholds that each alone would have."""

import random
from dataclasses import replace

import numpy as np
import pytest

from model.calibration.calibration import Evidence, sigmoid
from training.calibrators.adoption import measure_move
from training.calibrators.evidence import PatchEvidence
from training.calibrators.fitting import fit_calibrator
from training.calibrators.leave_out import list_sources, refit_thresholds
from training.labels.weight_caps import LabelOrigin


def draw_row(draw, number, owner):
    """A patch with votes, some of which failed or were forced, and a consensus belief."""
    merit = draw.gauss(0, 1.5)
    is_correct = draw.random() < sigmoid(1.5 * merit)
    votes = sum(draw.random() < sigmoid(merit) for _ in range(8))
    consensus = sigmoid(merit + draw.gauss(0, 1)) if draw.random() < 0.95 else None
    evidence = Evidence(votes / 8, 8, draw.choice([1.0, 0.875]), draw.choice([0.0, 0.1]), consensus)
    source = LabelOrigin(f"{owner}-{number % 3}", owner, owner)
    return PatchEvidence(evidence, is_correct, str(number // 2), draw.choice([1.0, 0.5]), source)


@pytest.mark.parametrize("seed", range(3))
def test_fits_that_run_together_equal_fits_alone(seed):
    draw = random.Random(seed)
    rows = [draw_row(draw, number, number % 20) for number in range(300)]
    left_out = [source.rows for source in list_sources([row.source for row in rows], [1.0] * 300)]
    # too few labels stay for any threshold
    left_out = [*left_out[::9], np.arange(250)]
    for own, thresholds in zip(left_out, refit_thresholds(rows, left_out), strict=True):
        rest = [replace(row, weight=0.0) if at in own else row for at, row in enumerate(rows)]
        alone = fit_calibrator(rest, fitted_at="").calibrator.thresholds
        assert measure_move(thresholds, alone) < 1e-6
    assert thresholds.correct is thresholds.incorrect is None


def test_sources_with_the_same_rows_are_left_out_once():
    origins = [LabelOrigin(person, 1, owner) for person, owner in (("a", 1), ("b", 2), (None, 2))]
    sources = list_sources([*origins, origins[1]], [1.0, 1.0, 1.0, 0.0])
    assert [(each.kind, each.rows.tolist()) for each in sources] == [
        ("owner", [1, 2]),
        ("owner", [0]),
        ("person", [1]),
    ]
