"""Compute and draw the reliability diagram: how often beliefs came true."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from model.evaluation.bootstrap import Estimate, compute_effective_size
from model.evaluation.judgement_columns import Floats, Indices
from model.evaluation.metrics import split_into_bins
from model.evaluation.wilson import compute_wilson_interval


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """One point of a reliability diagram: patches with similar beliefs."""

    patches: int
    """Number of patches in the bin."""
    belief: float
    """Mean belief of the patches."""
    correct: float
    """Share of correct patches."""
    low: float
    """Lower bound of the 95 % Wilson interval of `correct`; see `count_effective_trials`."""
    high: float
    """Upper bound of that interval."""


def bin_beliefs(beliefs: Floats, labels: Floats, issues: Indices) -> list[ReliabilityBin]:
    """Divide patches by belief into the bins of a reliability diagram, with about equally many patches each.

    `beliefs`, `labels` (0 or 1) and `issues` (issue numbers) have an item per patch. Patches with a belief of NaN are
    left out.
    """
    has_belief = ~np.isnan(beliefs)
    believed, true, issue = beliefs[has_belief], labels[has_belief], issues[has_belief]
    return [
        _build_bin(believed[rows], true[rows], issue[rows]) for rows in split_into_bins(believed)
    ]


def draw_diagram(bins: Sequence[ReliabilityBin], path: Path) -> None:
    """Draw a reliability diagram and write it to `path` as a PNG. Raises ImportError without matplotlib."""
    # needs matplotlib
    from model.evaluation.report.drawing import LIGHT, draw_png, draw_reliability  # noqa: PLC0415

    points = [(item.belief, Estimate(item.correct, item.low, item.high)) for item in bins]
    curve = ("held-out issues, with 95 % intervals", 0, points)
    path.write_bytes(draw_png(partial(draw_reliability, [curve]), LIGHT))


def count_effective_trials(weights: Floats, issues: Indices) -> float:
    """Compute how many independent trials a set of weighted patches is worth; 0 for no patches.

    `weights` and `issues` (issue numbers) have an item per patch. Patches of one issue count as dependent. A weight of
    one half also halves the result, which Kish's formula alone does not do. The mean weight is weighted by itself, so
    that many patches of tiny weight leave the result of the others as it is.
    """
    if not weights.any():
        return 0.0
    size = compute_effective_size(np.bincount(issues, weights=weights).astype(np.float64))
    return size * float(np.average(weights, weights=weights))


def _build_bin(beliefs: Floats, labels: Floats, issues: Indices) -> ReliabilityBin:
    trials = count_effective_trials(np.ones(len(labels)), issues)
    low, high = compute_wilson_interval(float(labels.mean()) * trials, trials)
    return ReliabilityBin(len(labels), float(beliefs.mean()), float(labels.mean()), low, high)
