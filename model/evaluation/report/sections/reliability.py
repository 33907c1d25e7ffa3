"""Section: how often beliefs come true (pure)."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.metrics import bin_reliability
from model.evaluation.rate_intervals import estimate_means
from model.evaluation.report.content import (
    Figure,
    Gap,
    Part,
    Section,
    Table,
    format_count,
    format_estimate,
)
from model.evaluation.report.drawing import draw_reliability
from model.evaluation.report.series import GroupSet, Series, read_estimate


def build_reliability_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on how often beliefs come true.

    It has a reliability diagram and a table of its bins for each group set.
    """
    text = (
        "Of the patches with a belief of 0.7, seven in ten should be correct: then the points lie "
        "on the diagonal. There are up to ten bins of equally many patches; equal beliefs share a "
        "bin, and patches without an opinion are in none. Resampling raises the expected "
        "calibration error: its interval may lie above its value."
    )
    parts = chain.from_iterable(map(_show_reliability, sets))
    return Section("reliability", "Reliability diagram", (text, *parts))


def _show_reliability(group_set: GroupSet) -> Iterator[Part]:
    bins = [(series, _build_bins(series)) for series in group_set.series]
    errors = [
        (
            series.label,
            *(format_estimate(read_estimate(series.document, name)) for name in ("ece", "brier")),
        )
        for series in group_set.series
    ]
    values = "; ".join(f"{label}: expected calibration error {ece}" for label, ece, _ in errors)
    curves = [
        (series.label, series.colour, [(belief, share) for _, belief, share in series_bins])
        for series, series_bins in bins
    ]
    yield Figure(
        f"reliability-{group_set.slug}",
        group_set.name,
        f"With 95 % intervals. {group_set.size}",
        f"Reliability on {group_set.name}. {values}.",
        partial(draw_reliability, curves),
    )
    caption = "; ".join(f"{label}: ECE {ece}, Brier {brier}" for label, ece, brier in errors)
    yield Table(
        f"{group_set.name}. {caption}.",
        ("verifier", "patches", "mean belief", "share that is correct"),
        [(series.label, *measured) for series, series_bins in bins for measured in series_bins],
    )
    for series in group_set.series:
        yield from (Gap(reason, series.label, group_set.name) for reason in _list_gaps(series))


def _list_gaps(series: Series) -> Iterator[str]:
    """Yield notes about patches that are missing in the diagram or have no probability."""
    if unknown := series.document["without_belief"]:
        yield f"{unknown} of {format_count(series.patch_count, 'patch')} without an opinion stand in no bin."
    patches = (patch for group in series.judged for patch in group.patches)
    if any(patch.belief is not None and patch.probability is None for patch in patches):
        yield "not every patch has a calibrated probability; raw scores stand in their place."


def _build_bins(series: Series) -> list[tuple[int, float, Estimate]]:
    """Build the bins of the document: number of patches, mean belief and share of correct patches."""
    columns, bins = series.columns, bin_reliability(series.columns)
    if not bins:
        return []
    place = np.repeat(np.arange(len(bins)), list(map(len, bins)))
    rows = np.concatenate(bins)
    shares = estimate_means(columns.label[rows], place, len(bins), series.issue[rows])
    return [
        (len(inside), float(columns.belief[inside].mean()), share)
        for inside, share in zip(bins, shares, strict=True)
    ]
