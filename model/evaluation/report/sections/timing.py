"""Section: seconds per patch (pure)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import cast

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import Figure, Part, Section, Table
from model.evaluation.report.drawing import Panel, draw_dots, show_seconds
from model.evaluation.report.paper_results import PAPER_SECONDS
from model.evaluation.report.series import GroupSet, Series


def build_timing_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on seconds per patch, with a figure and a table for each group set."""
    text = (
        "The wall time of a group, all votes together, divided by its patches. Run files do not "
        "name the machine: name it when you quote these values. The paper: below one second on "
        "two GPUs with 80 GB."
    )
    return Section("time", "Time per patch", (text, *chain.from_iterable(map(_show_time, sets))))


def _show_time(group_set: GroupSet) -> Iterator[Part]:
    names = ("mean", "p50", "p95")
    rows = [
        (series.label, *(f"{_get_seconds(series)[name]:.3g}" for name in names))
        for series in group_set.series
    ]
    spreads = [
        (series.label, {series.colour: _compute_spread(series)}) for series in group_set.series
    ]
    reference = (f"R4P on 2 × 80 GB, less than: {PAPER_SECONDS:g} s", PAPER_SECONDS)
    values = "; ".join(f"{label} {median} s" for label, _, median, _ in rows)
    yield Figure(
        f"time-{group_set.slug}",
        group_set.name,
        f"Median; whiskers from the 5th to the 95th percentile of patches, not an interval. {group_set.size}",
        f"Median seconds per patch on {group_set.name}: {values}.",
        partial(draw_dots, [Panel("Seconds per patch", spreads, [reference])], scale=show_seconds),
    )
    caption = f"{group_set.name}: seconds per patch. {group_set.size}"
    yield Table(caption, ("verifier", *names), rows)


def _compute_spread(series: Series) -> Estimate:
    seconds = [
        group.total_seconds / len(group.patches)
        for group in series.judged
        for _patch in group.patches
    ]
    early, middle, late = map(float, np.quantile(seconds, [0.05, 0.5, 0.95]))
    return Estimate(middle, early, late)


def _get_seconds(series: Series) -> Mapping[str, float]:
    return cast("Mapping[str, float]", series.document["seconds_per_patch"])
