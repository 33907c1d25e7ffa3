"""Section: how often beliefs come true (pure)."""

from collections.abc import Iterator, Sequence

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.judged_group import JudgedPatch
from model.evaluation.metrics import bin_reliability
from model.evaluation.report.content import (
    Curve,
    Curves,
    Figure,
    Section,
    Table,
    format_cells,
    format_count,
    format_estimate,
    format_number,
)
from model.evaluation.report.rate_intervals import estimate_means
from model.evaluation.report.sections.headline import read_estimate
from model.evaluation.report.series import GroupSet, Series, format_reasons


def build_reliability_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section with the reliability diagram."""
    bins_by_set = [
        (group_set, [(series, _build_bins(series)) for series in group_set.series])
        for group_set in sets
    ]
    return Section(
        "reliability",
        "Reliability diagram",
        (
            (
                "Of the patches with a belief of 0.7, seven in ten should be correct: then the points lie "
                "on the diagonal. There are up to ten bins of equally many patches; equal beliefs share a "
                "bin, and patches without an opinion are in none. Resampling raises the expected "
                "calibration error: its interval may lie above its value."
            ),
        ),
        figures=tuple(_build_figure(group_set, bins) for group_set, bins in bins_by_set),
        tables=tuple(_build_table(group_set, bins) for group_set, bins in bins_by_set),
        missing=format_reasons(
            (group_set.name, series.label, reason)
            for group_set in sets
            for series in group_set.series
            for reason in _list_gaps(series)
        ),
    )


def _list_gaps(series: Series) -> Iterator[str]:
    """Yield notes about patches that are missing in the diagram or have no probability."""
    if unknown := series.document["without_belief"]:
        yield f"{unknown} of {format_count(series.patch_count, 'patch')} without an opinion stand in no bin."
    if not all(patch.probability is not None for patch in _iterate_believed(series)):
        yield "not every patch has a calibrated probability; raw scores stand in their place."


def _iterate_believed(series: Series) -> Iterator[JudgedPatch]:
    return (patch for group in series.judged for patch in group.patches if patch.belief is not None)


_Bins = list[tuple[int, float, Estimate]]
"""Number of patches, mean belief and share of correct patches, per bin."""


def _build_bins(series: Series) -> _Bins:
    """Build the bins of the document, with intervals."""
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


def _build_figure(group_set: GroupSet, bins: Sequence[tuple[Series, _Bins]]) -> Figure:
    values = "; ".join(
        f"{series.label}: expected calibration error {format_estimate(read_estimate(series.document, 'ece'))}"
        for series, _ in bins
    )
    return Figure(
        f"reliability-{group_set.slug}",
        group_set.name,
        f"With 95 % intervals. {group_set.size}",
        f"Reliability on {group_set.name}. {values}.",
        Curves(
            "mean belief",
            "share that is correct",
            tuple(
                Curve(
                    series.label,
                    series.colour,
                    tuple((belief, share) for _, belief, share in series_bins),
                )
                for series, series_bins in bins
            ),
            diagonal=True,
        ),
    )


def _build_table(group_set: GroupSet, bins: Sequence[tuple[Series, _Bins]]) -> Table:
    return Table(
        f"{group_set.name}. "
        + "; ".join(
            f"{series.label}: ECE {format_estimate(read_estimate(series.document, 'ece'))}, "
            f"Brier {format_estimate(read_estimate(series.document, 'brier'))}"
            for series, _ in bins
        )
        + ".",
        (("verifier", 1), ("patches", 1), ("mean belief", 1), ("share that is correct", 2)),
        tuple(
            (series.label, str(patches), format_number(belief), *format_cells(share))
            for series, series_bins in bins
            for patches, belief, share in series_bins
        ),
    )
