"""Section: seconds per patch (pure)."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import (
    DotPlot,
    Figure,
    Panel,
    PlotPoint,
    PlotRow,
    ReferenceLine,
    Scale,
    Section,
    Table,
)
from model.evaluation.report.paper_results import PAPER_SECONDS
from model.evaluation.report.series import GroupSet, Series


def build_timing_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on seconds per patch."""
    return Section(
        "time",
        "Time per patch",
        (
            (
                "The wall time of a group, all votes together, divided by its patches. Run files do not "
                "name the machine: name it when you quote these values. The paper: below one second on "
                "two GPUs with 80 GB."
            ),
        ),
        figures=tuple(_build_figure(group_set) for group_set in sets),
        tables=tuple(_build_table(group_set) for group_set in sets),
    )


def _build_figure(group_set: GroupSet) -> Figure:
    rows = tuple(
        PlotRow(series.label, (PlotPoint(series.colour, _estimate_spread(series)),))
        for series in group_set.series
    )
    values = "; ".join(
        f"{series.label} {_get_seconds(series)['p50']:.3g} s" for series in group_set.series
    )
    return Figure(
        f"time-{group_set.slug}",
        group_set.name,
        f"Median; whiskers from the 5th to the 95th percentile of patches, not an interval. {group_set.size}",
        f"Median seconds per patch on {group_set.name}: {values}.",
        DotPlot(
            (
                Panel(
                    "Seconds per patch",
                    rows,
                    (ReferenceLine("R4P on 2 × 80 GB, less than", PAPER_SECONDS),),
                ),
            ),
            scale=Scale.SECONDS,
        ),
    )


def _estimate_spread(series: Series) -> Estimate:
    seconds = [
        group.total_seconds / len(group.patches)
        for group in series.judged
        for _patch in group.patches
    ]
    early, middle, late = map(float, np.quantile(seconds, [0.05, 0.5, 0.95]))
    return Estimate(middle, early, late)


def _get_seconds(series: Series) -> Mapping[str, float]:
    return cast("Mapping[str, float]", series.document["seconds_per_patch"])


def _build_table(group_set: GroupSet) -> Table:
    names = ("mean", "p50", "p95")
    return Table(
        f"{group_set.name}: seconds per patch. {group_set.size}",
        (("verifier", 1), *((name, 1) for name in names)),
        tuple(
            (series.label, *(f"{_get_seconds(series)[name]:.3g}" for name in names))
            for series in group_set.series
        ),
    )
