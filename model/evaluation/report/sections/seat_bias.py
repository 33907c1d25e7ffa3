"""Section: whether the opinion of a patch depends on its seat (pure)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import to_array
from model.evaluation.report.content import (
    Curve,
    Curves,
    Figure,
    Scale,
    Section,
    Table,
    format_cells,
    format_count,
    format_estimate,
)
from model.evaluation.report.rate_intervals import estimate_means, number_names
from model.evaluation.report.series import GroupSet, Series, format_counts, format_reasons


@dataclass(frozen=True, slots=True)
class _SeatedPatch:
    """The votes on one patch, as pairs of seat and acceptance."""

    issue: str
    votes: tuple[tuple[int, bool], ...]

    @property
    def accepted(self) -> float:
        return sum(accepted for _, accepted in self.votes) / len(self.votes)


@dataclass(frozen=True, slots=True)
class _SeatStatistics:
    """Votes, acceptance, and the effect of the seat, for each seat."""

    series: Series
    patches: int
    issues: int
    mixed: int
    votes: tuple[int, ...]
    accepted: tuple[Estimate, ...]
    added: tuple[Estimate, ...]


def build_seats_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on order sensitivity."""
    by_set = [(group_set, list(map(_measure_seats, group_set.series))) for group_set in sets]
    kept = [(group_set, [seats for seats in all_seats if seats]) for group_set, all_seats in by_set]
    return Section(
        "order",
        "Order sensitivity",
        (
            (
                "Does the verdict on a patch depend on its seat? For every patch that was judged in "
                "several seats, the figure shows how much more often it is accepted in a seat than over "
                "all its votes. Zero everywhere means that the order has no effect. “Mixed” counts "
                "patches that some votes accepted and others rejected; sampling alone also mixes."
            ),
        ),
        figures=tuple(
            _build_figure(group_set, all_seats) for group_set, all_seats in kept if all_seats
        ),
        tables=tuple(
            _build_table(group_set, all_seats) for group_set, all_seats in kept if all_seats
        ),
        missing=format_reasons(
            (group_set.name, series.label, _explain_missing(series))
            for group_set, all_seats in by_set
            for series, seated in zip(group_set.series, all_seats, strict=True)
            if seated is None
        ),
    )


def _measure_seats(series: Series) -> _SeatStatistics | None:
    seen = [
        seen_patch
        for group in series.judged
        for seen_patch in _iterate_seated(group)
        if len({seat for seat, _ in seen_patch.votes}) > 1
    ]
    if not seen:
        return None
    rows = [(patch, seat, accepted) for patch in seen for seat, accepted in patch.votes]
    issue = number_names([seen_patch.issue for seen_patch, _, _ in rows])
    seat = np.asarray([index for _, index, _ in rows], dtype=np.intp)
    accepted = to_array([is_accepted for _, _, is_accepted in rows])
    count = int(seat.max()) + 1
    return _SeatStatistics(
        series=series,
        patches=len(seen),
        issues=int(issue.max()) + 1,
        mixed=sum(0 < patch.accepted < 1 for patch in seen),
        votes=tuple(int((seat == index).sum()) for index in range(count)),
        accepted=tuple(estimate_means(accepted, seat, count, issue)),
        added=tuple(
            estimate_means(
                accepted - to_array([seen_patch.accepted for seen_patch, _, _ in rows]),
                seat,
                count,
                issue,
            )
        ),
    )


def _explain_missing(series: Series) -> str:
    if not any(group.asked for group in series.judged):
        return "no votes are cast, so no seat can sway them."
    return "no patch has readable votes in two different seats."


def _iterate_seated(group: JudgedGroup) -> Iterator[_SeatedPatch]:
    votes = defaultdict(list)
    for vote in group.votes:
        if vote.correct is not None:
            for seat, patch in enumerate(vote.seats):
                if patch is not None:
                    votes[patch].append((seat, patch in vote.correct))
    for cast in votes.values():
        yield _SeatedPatch(group.instance_id, tuple(cast))


def _format_counts(all_seats: Sequence[_SeatStatistics]) -> str:
    return format_counts(
        (
            seats.series.label,
            f"{format_count(seats.issues, 'issue')}, {format_count(seats.patches, 'patch')}, {format_count(sum(seats.votes), 'vote')} on them",
        )
        for seats in all_seats
    )


def _build_figure(group_set: GroupSet, all_seats: Sequence[_SeatStatistics]) -> Figure:
    most = max(len(seats.votes) for seats in all_seats)
    values = "; ".join(
        f"{seats.series.label} adds "
        + ", ".join(
            f"{format_estimate(added)} in seat {index}"
            for index, added in enumerate(seats.added, 1)
        )
        for seats in all_seats
    )
    return Figure(
        f"order-{group_set.slug}",
        group_set.name,
        f"Acceptance above the patch's own mean, with 95 % intervals. {_format_counts(all_seats)}",
        f"On {group_set.name}: {values}.",
        Curves(
            "seat",
            "points above the patch's mean",
            tuple(
                Curve(
                    seats.series.label,
                    seats.series.colour,
                    tuple((float(index), added) for index, added in enumerate(seats.added)),
                )
                for seats in all_seats
            ),
            ticks=tuple(str(index + 1) for index in range(most)),
            level=0.0,
            scale=Scale.DIFFERENCE,
        ),
    )


def _build_table(group_set: GroupSet, all_seats: Sequence[_SeatStatistics]) -> Table:
    return Table(
        f"{group_set.name}. Mixed: "
        + "; ".join(
            f"{seats.series.label} {seats.mixed} of {seats.patches} patches" for seats in all_seats
        )
        + ".",
        (
            ("verifier", 1),
            ("seat", 1),
            ("votes", 1),
            ("accepted", 2),
            ("above the patch's mean", 2),
        ),
        tuple(
            (
                seats.series.label,
                str(index + 1),
                str(seats.votes[index]),
                *format_cells(seats.accepted[index]),
                *format_cells(seats.added[index]),
            )
            for seats in all_seats
            for index in range(len(seats.votes))
        ),
    )
