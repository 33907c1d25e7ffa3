"""Section: whether the opinion of a patch depends on its seat (pure)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from statistics import fmean

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import to_array
from model.evaluation.rate_intervals import estimate_means, number_names
from model.evaluation.report.content import (
    Figure,
    Gap,
    Part,
    Section,
    Table,
    format_count,
    format_estimate,
)
from model.evaluation.report.drawing import draw_curves, show_differences
from model.evaluation.report.series import GroupSet, Series, format_counts


@dataclass(frozen=True, slots=True)
class _SeatStatistics:
    """What the seat changes for patches that were judged in several seats. Lists have one item per seat."""

    series: Series
    issues: int
    patches: int
    mixed: int
    """Number of patches that some votes accept and others reject."""
    votes: list[int]
    accepted: list[Estimate]
    added: list[Estimate]
    """Acceptance above the patch's own mean."""

    @property
    def size(self) -> str:
        """Numbers of issues, patches and votes for a caption."""
        size = f"{format_count(self.issues, 'issue')}, {format_count(self.patches, 'patch')}"
        return f"{size}, {format_count(sum(self.votes), 'vote')} on them"


def build_seats_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on whether the votes on a patch depend on its seat.

    A seat is a numbered place in the prompt. For each group set the section has a figure and a table, or notes (Gap)
    where no patch was judged in two seats.
    """
    text = (
        "Does the verdict on a patch depend on its seat? For every patch that was judged in "
        "several seats, the figure shows how much more often it is accepted in a seat than over "
        "all its votes. Zero everywhere means that the order has no effect. “Mixed” counts "
        "patches that some votes accepted and others rejected; sampling alone also mixes."
    )
    parts = chain.from_iterable(map(_show_seats, sets))
    return Section("order", "Order sensitivity", (text, *parts))


def _show_seats(group_set: GroupSet) -> Iterator[Part]:
    kept: list[_SeatStatistics] = []
    for series in group_set.series:
        if statistics := _measure_seats(series):
            kept.append(statistics)
        else:
            yield Gap(_explain_missing(series), series.label, group_set.name)
    if kept:
        yield _build_figure(group_set, kept)
        yield _build_table(group_set, kept)


def _measure_seats(series: Series) -> _SeatStatistics | None:
    patches = [
        (group.instance_id, votes)
        for group in series.judged
        for votes in _list_votes(group)
        if len({seat for seat, _ in votes}) > 1
    ]
    if not patches:
        return None
    means = [fmean(is_accepted for _, is_accepted in votes) for _, votes in patches]
    issue = number_names([issue for issue, votes in patches for _ in votes])
    seat = np.asarray([seat for _, votes in patches for seat, _ in votes], dtype=np.intp)
    accepted = to_array([is_accepted for _, votes in patches for _, is_accepted in votes])
    mean = np.repeat(means, [len(votes) for _, votes in patches])
    count = int(seat.max()) + 1
    return _SeatStatistics(
        series,
        issues=int(issue.max()) + 1,
        patches=len(patches),
        mixed=sum(0 < share < 1 for share in means),
        votes=np.bincount(seat).tolist(),
        accepted=estimate_means(accepted, seat, count, issue),
        added=estimate_means(accepted - mean, seat, count, issue),
    )


def _list_votes(group: JudgedGroup) -> list[list[tuple[int, bool]]]:
    """List seat and acceptance of the readable votes on each patch."""
    votes_by_patch = defaultdict(list)
    for vote in group.votes:
        if vote.correct is not None:
            for seat, patch in enumerate(vote.seats):
                if patch is not None:
                    votes_by_patch[patch].append((seat, patch in vote.correct))
    return list(votes_by_patch.values())


def _explain_missing(series: Series) -> str:
    if not any(group.asked for group in series.judged):
        return "no votes are cast, so no seat can sway them."
    return "no patch has readable votes in two different seats."


def _build_figure(group_set: GroupSet, kept: Sequence[_SeatStatistics]) -> Figure:
    counts = format_counts((statistics.series.label, statistics.size) for statistics in kept)
    values = "; ".join(
        f"{statistics.series.label} adds "
        + ", ".join(
            f"{format_estimate(added)} in seat {seat}"
            for seat, added in enumerate(statistics.added, 1)
        )
        for statistics in kept
    )
    curves = [
        (statistics.series.label, statistics.series.colour, list(enumerate(statistics.added)))
        for statistics in kept
    ]
    ticks = [str(seat + 1) for seat in range(max(len(points) for _, _, points in curves))]
    labels = ("seat", "points above the patch's mean")
    return Figure(
        f"order-{group_set.slug}",
        group_set.name,
        f"Acceptance above the patch's own mean, with 95 % intervals. {counts}",
        f"On {group_set.name}: {values}.",
        partial(draw_curves, curves, labels, ticks=ticks, level=0.0, scale=show_differences),
    )


def _build_table(group_set: GroupSet, kept: Sequence[_SeatStatistics]) -> Table:
    mixed = "; ".join(
        f"{statistics.series.label} {statistics.mixed} of {statistics.patches} patches"
        for statistics in kept
    )
    rows = [
        (statistics.series.label, seat, *measured)
        for statistics in kept
        for seat, measured in enumerate(
            zip(statistics.votes, statistics.accepted, statistics.added, strict=True), 1
        )
    ]
    head = ("verifier", "seat", "votes", "accepted", "above the patch's mean")
    return Table(f"{group_set.name}. Mixed: {mixed}.", head, rows)
