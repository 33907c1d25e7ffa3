"""Whether the opinion of a patch depends on the seat it sits in (pure)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import array
from model.evaluation.report.content import (
    Curve,
    Curves,
    Figure,
    Scale,
    Section,
    Table,
    cells,
    many,
    said,
)
from model.evaluation.report.rate_intervals import means, numbered
from model.evaluation.report.series import GroupSet, Series, counted, reasons


@dataclass(frozen=True, slots=True)
class _Seen:
    """A patch in its seats: who, where, and whether the vote accepted it."""

    issue: str
    votes: tuple[tuple[int, bool], ...]

    @property
    def accepted(self) -> float:
        return sum(accepted for _, accepted in self.votes) / len(self.votes)


@dataclass(frozen=True, slots=True)
class _Seats:
    """Votes, acceptance, and what a seat adds to it, for each seat."""

    series: Series
    patches: int
    issues: int
    mixed: int
    votes: tuple[int, ...]
    accepted: tuple[Estimate, ...]
    added: tuple[Estimate, ...]


def seats(sets: Sequence[GroupSet]) -> Section:
    """Order sensitivity."""
    found = [(one, list(map(_seats, one.series))) for one in sets]
    kept = [(one, [each for each in all_ if each]) for one, all_ in found]
    return Section(
        "order",
        "Order sensitivity",
        (
            (
                "Does the verdict on a patch depend on its seat? For every patch that was judged in different seats: how much "
                "more often it is accepted in a seat than over all its votes. Zero everywhere is a verifier that order does not "
                "move. “Mixed” counts the patches that some votes accepted and others rejected; sampling alone mixes too."
            ),
        ),
        figures=tuple(_figure(one, some) for one, some in kept if some),
        tables=tuple(_table(one, some) for one, some in kept if some),
        missing=reasons(
            (one.name, series.label, _why_not(series))
            for one, all_ in found
            for series, seated in zip(one.series, all_, strict=True)
            if seated is None
        ),
    )


def _seats(series: Series) -> _Seats | None:
    seen = [
        one
        for group in series.judged
        for one in _seen(group)
        if len({seat for seat, _ in one.votes}) > 1
    ]
    if not seen:
        return None
    rows = [(one, seat, accepted) for one in seen for seat, accepted in one.votes]
    issue = numbered([one.issue for one, _, _ in rows])
    seat = np.asarray([at for _, at, _ in rows], dtype=np.intp)
    accepted = array([was for _, _, was in rows])
    count = int(seat.max()) + 1
    return _Seats(
        series=series,
        patches=len(seen),
        issues=int(issue.max()) + 1,
        mixed=sum(0 < one.accepted < 1 for one in seen),
        votes=tuple(int((seat == at).sum()) for at in range(count)),
        accepted=tuple(means(accepted, seat, count, issue)),
        added=tuple(
            means(accepted - array([one.accepted for one, _, _ in rows]), seat, count, issue)
        ),
    )


def _why_not(series: Series) -> str:
    if not any(group.asked for group in series.judged):
        return "no votes are cast, so no seat can sway them."
    return "no patch has readable votes in two different seats."


def _seen(group: JudgedGroup) -> Iterator[_Seen]:
    votes = defaultdict(list)
    for vote in group.votes:
        if vote.correct is not None:
            for seat, patch in enumerate(vote.seats):
                if patch is not None:
                    votes[patch].append((seat, patch in vote.correct))
    for cast in votes.values():
        yield _Seen(group.instance_id, tuple(cast))


def _counts(found: Sequence[_Seats]) -> str:
    return counted(
        (
            one.series.label,
            f"{many(one.issues, 'issue')}, {many(one.patches, 'patch')}, {many(sum(one.votes), 'vote')} on them",
        )
        for one in found
    )


def _figure(group_set: GroupSet, found: Sequence[_Seats]) -> Figure:
    most = max(len(one.votes) for one in found)
    told = "; ".join(
        f"{one.series.label} adds "
        + ", ".join(f"{said(added)} in seat {at}" for at, added in enumerate(one.added, 1))
        for one in found
    )
    return Figure(
        f"order-{group_set.slug}",
        group_set.name,
        f"Acceptance above the patch's own mean, with 95 % intervals. {_counts(found)}",
        f"On {group_set.name}: {told}.",
        Curves(
            "seat",
            "points above the patch's mean",
            tuple(
                Curve(
                    one.series.label,
                    one.series.colour,
                    tuple((float(at), added) for at, added in enumerate(one.added)),
                )
                for one in found
            ),
            ticks=tuple(str(at + 1) for at in range(most)),
            level=0.0,
            scale=Scale.DIFFERENCE,
        ),
    )


def _table(group_set: GroupSet, found: Sequence[_Seats]) -> Table:
    return Table(
        f"{group_set.name}. Mixed: "
        + "; ".join(f"{one.series.label} {one.mixed} of {one.patches} patches" for one in found)
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
                one.series.label,
                str(at + 1),
                str(one.votes[at]),
                *cells(one.accepted[at]),
                *cells(one.added[at]),
            )
            for one in found
            for at in range(len(one.votes))
        ),
    )
