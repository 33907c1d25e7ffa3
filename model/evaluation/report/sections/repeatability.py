"""Section: how often votes on one patch disagree (pure)."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.rate_intervals import estimate_rates, number_names
from model.evaluation.report.content import (
    Figure,
    Gap,
    Part,
    Section,
    Table,
    TableRow,
    format_count,
    list_estimates,
)
from model.evaluation.report.drawing import Curve, draw_curves
from model.evaluation.report.paper_results import ONE_DEVIATES_SHARE, UNANIMOUS_SHARE
from model.evaluation.report.series import GroupSet, Series, format_counts

_LEAST = 3
"""Fewest readable votes on a patch that has a majority."""


def build_deviation_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on how many votes disagree with the majority of votes on the same patch.

    For each group set it has a figure and a table, or notes (Gap) where patches have too few votes.
    """
    text = (
        f"Of the patches with at least {_LEAST} readable votes: how many votes are against the patch's own majority. The "
        f"votes differ in seed and order. The paper sampled 32 times at temperature 1: {UNANIMOUS_SHARE:.1%} of its patches had "
        f"no deviating vote, {ONE_DEVIATES_SHARE:.1%} had one; fewer votes have less room to deviate, at most half of them."
    )
    title = "Deviation from the majority over repeated sampling"
    return Section("deviation", title, (text, *chain.from_iterable(map(_show_deviation, sets))))


def _show_deviation(group_set: GroupSet) -> Iterator[Part]:
    counts: list[tuple[str, str]] = []
    curves: list[Curve] = []
    rows: list[TableRow] = []
    for series in group_set.series:
        against = _count_against(series)
        if not against:
            yield Gap(_explain_missing(series), series.label, group_set.name)
            continue
        shares, issues = _estimate_shares(against), len({issue for issue, _ in against})
        size = f"{format_count(issues, 'issue')}, {format_count(len(against), 'patch')}"
        counts.append((series.label, size))
        curves.append((series.label, series.colour, list(enumerate(shares))))
        rows += [(series.label, len(against), votes, share) for votes, share in enumerate(shares)]
    if not curves:
        return
    values = list_estimates((label, points[0][1]) for label, _, points in curves)
    labels = ("votes against the patch's majority", "share of patches")
    ticks = [str(votes) for votes in range(max(len(points) for _, _, points in curves))]
    yield Figure(
        f"deviation-{group_set.slug}",
        group_set.name,
        f"Share of patches with 95 % intervals. {format_counts(counts)}",
        f"Patches of {group_set.name} without a deviating vote: {values}.",
        partial(draw_curves, curves, labels, ticks=ticks),
    )
    head = ("verifier", "patches", "deviating votes", "share of patches")
    yield Table(group_set.name, head, rows)


def _count_against(series: Series) -> list[tuple[str, int]]:
    """List issue and number of votes against the majority of each patch with enough votes."""
    return [
        (group.instance_id, min(patch.votes.correct, patch.votes.incorrect))
        for group in series.judged
        for patch in group.patches
        if patch.votes.valid >= _LEAST
    ]


def _estimate_shares(against: Sequence[tuple[str, int]]) -> list[Estimate]:
    """Estimate the shares of patches with 0, 1, 2, … votes against their majority."""
    votes = np.asarray([count for _, count in against])
    numbers = np.arange(votes.max() + 1)
    # (patches, 1) == (numbers,): one column of zeros and ones for each number of votes
    same = (votes[:, None] == numbers).astype(np.float64)
    return estimate_rates(same, np.ones_like(same), number_names([issue for issue, _ in against]))


def _explain_missing(series: Series) -> str:
    if not any(group.asked for group in series.judged):
        return "no votes are cast, so nothing can deviate from their majority."
    most = max(patch.votes.valid for group in series.judged for patch in group.patches)
    return (
        f"at most {format_count(most, 'readable vote')} on a patch, and it takes {_LEAST} "
        f"(r4p evaluate --votes {_LEAST} or more)."
    )
