"""The reliability diagram: how often what was believed came true."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model.evaluation.bootstrap import effective
from model.evaluation.judgement_columns import Floats, Indices
from model.evaluation.metrics import binned
from model.evaluation.wilson import wilson


@dataclass(frozen=True, slots=True)
class Bin:
    """Patches that were believed about the same."""

    patches: int
    belief: float
    """Mean."""
    correct: float
    """Share that is correct."""
    low: float
    high: float
    """Its 95 % Wilson interval, by what the patches are worth: see `worth`."""


def diagram(beliefs: Floats, labels: Floats, issues: Indices) -> list[Bin]:
    """Bins of equal mass, beliefs ascending; patches without a belief (NaN) are left out."""
    told = ~np.isnan(beliefs)
    known, true, issue = beliefs[told], labels[told], issues[told]
    return [_bin(known[rows], true[rows], issue[rows]) for rows in binned(known)]


def draw(bins: Sequence[Bin], title: str, path: Path) -> None:
    """The diagram as a PNG. Raises ImportError without matplotlib."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - only who wants a picture needs it

    figure = Figure(figsize=(5, 5), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], linestyle=":", color="grey", label="as believed")
    beliefs = [one.belief for one in bins]
    shares = [one.correct for one in bins]
    errors = [
        [one.correct - one.low for one in bins],
        [one.high - one.correct for one in bins],
    ]
    axes.errorbar(beliefs, shares, yerr=errors, marker="o", capsize=3, label="95 % interval")
    for one in bins:
        axes.annotate(str(one.patches), (one.belief, one.low), fontsize=7, ha="center", va="top")
    axes.set(
        xlim=(0, 1), ylim=(0, 1), xlabel="believed", ylabel="share that is correct", title=title
    )
    axes.legend(loc="upper left")
    figure.savefig(path)


def worth(weights: Floats, issues: Indices) -> float:
    """How many independent trials these are, if those of one issue stand and fall together.

    What counts half is worth half, which no effective sample size shows: that asks who counts more than others.
    """
    if not len(weights):
        return 0.0
    return effective(np.bincount(issues, weights=weights).astype(np.float64)) * float(
        weights.mean()
    )


def _bin(beliefs: Floats, labels: Floats, issues: Indices) -> Bin:
    trials = worth(np.ones(len(labels)), issues)
    low, high = wilson(float(labels.mean()) * trials, trials)
    return Bin(len(labels), float(beliefs.mean()), float(labels.mean()), low, high)
