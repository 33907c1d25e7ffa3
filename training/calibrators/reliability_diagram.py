"""Compute and draw the reliability diagram: how often beliefs came true."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model.evaluation.bootstrap import compute_effective_size
from model.evaluation.judgement_columns import Floats, Indices
from model.evaluation.metrics import split_into_bins
from model.evaluation.wilson import compute_wilson_interval


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Patches with similar beliefs."""

    patches: int
    belief: float
    """Mean belief."""
    correct: float
    """Share of correct patches."""
    low: float
    high: float
    """Upper bound of the 95 % Wilson interval; see `count_effective_trials`."""


def bin_beliefs(beliefs: Floats, labels: Floats, issues: Indices) -> list[ReliabilityBin]:
    """Build bins of equal mass, beliefs ascending. Patches without a belief (NaN) are left out."""
    has_belief = ~np.isnan(beliefs)
    believed, true, issue = beliefs[has_belief], labels[has_belief], issues[has_belief]
    return [
        _build_bin(believed[rows], true[rows], issue[rows]) for rows in split_into_bins(believed)
    ]


def draw_diagram(bins: Sequence[ReliabilityBin], title: str, path: Path) -> None:
    """Draw the diagram as a PNG. Raises ImportError without matplotlib."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - only a picture needs matplotlib

    figure = Figure(figsize=(5, 5), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], linestyle=":", color="grey", label="as believed")
    beliefs = [bin_.belief for bin_ in bins]
    shares = [bin_.correct for bin_ in bins]
    errors = [
        [bin_.correct - bin_.low for bin_ in bins],
        [bin_.high - bin_.correct for bin_ in bins],
    ]
    axes.errorbar(beliefs, shares, yerr=errors, marker="o", capsize=3, label="95 % interval")
    for bin_ in bins:
        axes.annotate(str(bin_.patches), (bin_.belief, bin_.low), fontsize=7, ha="center", va="top")
    axes.set(
        xlim=(0, 1), ylim=(0, 1), xlabel="believed", ylabel="share that is correct", title=title
    )
    axes.legend(loc="upper left")
    figure.savefig(path)


def count_effective_trials(weights: Floats, issues: Indices) -> float:
    """Count the independent trials among weighted patches.

    Patches of one issue count as dependent. A weight of one half also halves the count, which Kish's formula
    alone does not do.
    """
    if not len(weights):
        return 0.0
    return compute_effective_size(np.bincount(issues, weights=weights).astype(np.float64)) * float(
        weights.mean()
    )


def _build_bin(beliefs: Floats, labels: Floats, issues: Indices) -> ReliabilityBin:
    trials = count_effective_trials(np.ones(len(labels)), issues)
    low, high = compute_wilson_interval(float(labels.mean()) * trials, trials)
    return ReliabilityBin(len(labels), float(beliefs.mean()), float(labels.mean()), low, high)
