"""How long a patch takes (pure)."""

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import (
    Dots,
    Figure,
    Line,
    Mark,
    Panel,
    Row,
    Scale,
    Section,
    Table,
)
from model.evaluation.report.paper_results import SECONDS
from model.evaluation.report.series import GroupSet, Series


def timing(sets: Sequence[GroupSet]) -> Section:
    """Seconds per patch."""
    return Section(
        "time",
        "Time per patch",
        (
            (
                "A group's wall time shared by its patches, all votes together. The machine is not noted in a run file: say "
                "which it was when you quote these. The paper: below one second on two GPUs of 80 GB."
            ),
        ),
        figures=tuple(_figure(group_set) for group_set in sets),
        tables=tuple(_table(group_set) for group_set in sets),
    )


def _figure(group_set: GroupSet) -> Figure:
    rows = tuple(
        Row(series.label, (Mark(series.colour, _spread(series)),)) for series in group_set.series
    )
    told = "; ".join(f"{one.label} {_seconds(one)['p50']:.3g} s" for one in group_set.series)
    return Figure(
        f"time-{group_set.slug}",
        group_set.name,
        f"Median; whiskers from the 5th to the 95th percentile of patches, not an interval. {group_set.counted}",
        f"Median seconds per patch on {group_set.name}: {told}.",
        Dots(
            (Panel("Seconds per patch", rows, (Line("R4P on 2 × 80 GB, less than", SECONDS),)),),
            scale=Scale.SECONDS,
        ),
    )


def _spread(series: Series) -> Estimate:
    each = [
        group.total_seconds / len(group.patches)
        for group in series.judged
        for _patch in group.patches
    ]
    early, middle, late = map(float, np.quantile(each, [0.05, 0.5, 0.95]))
    return Estimate(middle, early, late)


def _seconds(series: Series) -> Mapping[str, float]:
    return cast("Mapping[str, float]", series.document["seconds_per_patch"])


def _table(group_set: GroupSet) -> Table:
    names = ("mean", "p50", "p95")
    return Table(
        f"{group_set.name}: seconds per patch. {group_set.counted}",
        (("verifier", 1), *((name, 1) for name in names)),
        tuple(
            (series.label, *(f"{_seconds(series)[name]:.3g}" for name in names))
            for series in group_set.series
        ),
    )
