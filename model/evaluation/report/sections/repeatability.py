"""Section: how often votes on one patch disagree (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import (
    Curve,
    Curves,
    Figure,
    Section,
    Table,
    format_cells,
    format_count,
    format_estimate,
)
from model.evaluation.report.paper_results import ONE_DEVIATES_SHARE, UNANIMOUS_SHARE
from model.evaluation.report.rate_intervals import estimate_means, number_names
from model.evaluation.report.series import GroupSet, Series, format_counts, format_reasons

_LEAST = 3
"""Fewest readable votes on a patch that has a majority."""


@dataclass(frozen=True, slots=True)
class _Deviation:
    """Shares of patches with 0, 1, 2, … votes against the majority."""

    series: Series
    patches: int
    issues: int
    shares: tuple[Estimate, ...]


def build_deviation_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on votes against the majority of their patch."""
    by_set = [(group_set, list(map(_measure_deviation, group_set.series))) for group_set in sets]
    kept = [
        (group_set, [deviation for deviation in deviations if deviation])
        for group_set, deviations in by_set
    ]
    return Section(
        "deviation",
        "Deviation from the majority over repeated sampling",
        (
            (
                f"Of the patches with at least {_LEAST} readable votes: how many votes are against the patch's own majority. The "
                f"votes differ in seed and order. The paper sampled 32 times at temperature 1: {UNANIMOUS_SHARE:.1%} of its patches had "
                f"no deviating vote, {ONE_DEVIATES_SHARE:.1%} had one; fewer votes have less room to deviate, at most half of them."
            ),
        ),
        figures=tuple(
            _build_figure(group_set, deviations) for group_set, deviations in kept if deviations
        ),
        tables=tuple(
            _build_table(group_set, deviations) for group_set, deviations in kept if deviations
        ),
        missing=format_reasons(
            (group_set.name, series.label, _explain_missing(series))
            for group_set, deviations in by_set
            for series, deviating in zip(group_set.series, deviations, strict=True)
            if deviating is None
        ),
    )


def _measure_deviation(series: Series) -> _Deviation | None:
    rows = [
        (group.instance_id, min(patch.votes.correct, patch.votes.incorrect))
        for group in series.judged
        for patch in group.patches
        if patch.votes.valid >= _LEAST
    ]
    if not rows:
        return None
    issue = number_names([name for name, _ in rows])
    votes = np.asarray([against for _, against in rows])
    one_bin = np.zeros(len(rows), dtype=np.intp)
    shares = [
        estimate_means((votes == against).astype(np.float64), one_bin, 1, issue)[0]
        for against in range(int(votes.max()) + 1)
    ]
    return _Deviation(series, len(rows), int(issue.max()) + 1, tuple(shares))


def _explain_missing(series: Series) -> str:
    if not any(group.asked for group in series.judged):
        return "no votes are cast, so nothing can deviate from their majority."
    most = max(patch.votes.valid for group in series.judged for patch in group.patches)
    return (
        f"at most {format_count(most, 'readable vote')} on a patch, and it takes {_LEAST} "
        f"(r4p evaluate --votes {_LEAST} or more)."
    )


def _format_counts(deviations: Sequence[_Deviation]) -> str:
    return format_counts(
        (
            deviation.series.label,
            f"{format_count(deviation.issues, 'issue')}, {format_count(deviation.patches, 'patch')}",
        )
        for deviation in deviations
    )


def _build_figure(group_set: GroupSet, deviations: Sequence[_Deviation]) -> Figure:
    most = max(len(deviation.shares) for deviation in deviations)
    values = "; ".join(
        f"{deviation.series.label} {format_estimate(deviation.shares[0])}"
        for deviation in deviations
    )
    return Figure(
        f"deviation-{group_set.slug}",
        group_set.name,
        f"Share of patches with 95 % intervals. {_format_counts(deviations)}",
        f"Patches of {group_set.name} without a deviating vote: {values}.",
        Curves(
            "votes against the patch's majority",
            "share of patches",
            tuple(
                Curve(
                    deviation.series.label,
                    deviation.series.colour,
                    tuple((float(index), share) for index, share in enumerate(deviation.shares)),
                )
                for deviation in deviations
            ),
            ticks=tuple(map(str, range(most))),
        ),
    )


def _build_table(group_set: GroupSet, deviations: Sequence[_Deviation]) -> Table:
    return Table(
        group_set.name,
        (("verifier", 1), ("patches", 1), ("deviating votes", 1), ("share of patches", 2)),
        tuple(
            (deviation.series.label, str(deviation.patches), str(against), *format_cells(share))
            for deviation in deviations
            for against, share in enumerate(deviation.shares)
        ),
    )
