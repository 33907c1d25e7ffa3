"""Whether a verifier says the same when it is asked again (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import Curve, Curves, Figure, Section, Table, cells, many, said
from model.evaluation.report.paper_results import ONE_DEVIATES, UNANIMOUS
from model.evaluation.report.rate_intervals import means, numbered
from model.evaluation.report.series import GroupSet, Series, counted, reasons

_LEAST = 3
"""Readable votes on a patch from which a majority can be deviated from."""


@dataclass(frozen=True, slots=True)
class _Deviating:
    """Shares of the patches with 0, 1, 2 … votes against their majority."""

    series: Series
    patches: int
    issues: int
    shares: tuple[Estimate, ...]


def repeated(sets: Sequence[GroupSet]) -> Section:
    """Votes that deviate from the majority of their patch."""
    found = [(one, list(map(_deviating, one.series))) for one in sets]
    kept = [(one, [each for each in all_ if each]) for one, all_ in found]
    return Section(
        "deviation",
        "Deviation from the majority over repeated sampling",
        (
            (
                f"Of the patches with at least {_LEAST} readable votes: how many votes are against the patch's own majority. The "
                f"votes differ in seed and order. The paper sampled 32 times at temperature 1: {UNANIMOUS:.1%} of its patches had "
                f"no deviating vote, {ONE_DEVIATES:.1%} had one; fewer votes have less room to deviate, at most half of them."
            ),
        ),
        figures=tuple(_figure(one, some) for one, some in kept if some),
        tables=tuple(_table(one, some) for one, some in kept if some),
        missing=reasons(
            (one.name, series.label, _why_not(series))
            for one, all_ in found
            for series, deviating in zip(one.series, all_, strict=True)
            if deviating is None
        ),
    )


def _deviating(series: Series) -> _Deviating | None:
    rows = [
        (group.instance_id, min(patch.votes.correct, patch.votes.incorrect))
        for group in series.judged
        for patch in group.patches
        if patch.votes.valid >= _LEAST
    ]
    if not rows:
        return None
    issue = numbered([name for name, _ in rows])
    votes = np.asarray([against for _, against in rows])
    one_bin = np.zeros(len(rows), dtype=np.intp)
    shares = [
        means((votes == against).astype(np.float64), one_bin, 1, issue)[0]
        for against in range(int(votes.max()) + 1)
    ]
    return _Deviating(series, len(rows), int(issue.max()) + 1, tuple(shares))


def _why_not(series: Series) -> str:
    if not any(group.asked for group in series.judged):
        return "no votes are cast, so nothing can deviate from their majority."
    most = max(patch.votes.valid for group in series.judged for patch in group.patches)
    return (
        f"at most {many(most, 'readable vote')} on a patch, and it takes {_LEAST} "
        f"(r4p evaluate --votes {_LEAST} or more)."
    )


def _counts(found: Sequence[_Deviating]) -> str:
    return counted(
        (one.series.label, f"{many(one.issues, 'issue')}, {many(one.patches, 'patch')}")
        for one in found
    )


def _figure(group_set: GroupSet, found: Sequence[_Deviating]) -> Figure:
    most = max(len(one.shares) for one in found)
    told = "; ".join(f"{one.series.label} {said(one.shares[0])}" for one in found)
    return Figure(
        f"deviation-{group_set.slug}",
        group_set.name,
        f"Share of patches with 95 % intervals. {_counts(found)}",
        f"Patches of {group_set.name} without a deviating vote: {told}.",
        Curves(
            "votes against the patch's majority",
            "share of patches",
            tuple(
                Curve(
                    one.series.label,
                    one.series.colour,
                    tuple((float(at), share) for at, share in enumerate(one.shares)),
                )
                for one in found
            ),
            ticks=tuple(map(str, range(most))),
        ),
    )


def _table(group_set: GroupSet, found: Sequence[_Deviating]) -> Table:
    return Table(
        group_set.name,
        (("verifier", 1), ("patches", 1), ("deviating votes", 1), ("share of patches", 2)),
        tuple(
            (one.series.label, str(one.patches), str(against), *cells(share))
            for one in found
            for against, share in enumerate(one.shares)
        ),
    )
