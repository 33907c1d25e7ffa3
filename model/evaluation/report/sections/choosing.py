"""What choosing by a verifier is worth: Best@K (pure)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.columns import array
from model.evaluation.judged import JudgedPatch
from model.evaluation.report.content import (
    GREY,
    Curve,
    Curves,
    Figure,
    Section,
    Table,
    cells,
    number,
    said,
)
from model.evaluation.report.rates import means, numbered
from model.evaluation.report.series import GroupSet, Series
from model.selection import best_at_k


@dataclass(frozen=True, slots=True)
class _Curve:
    """Best@K for K = 1, 2, …, beside what a random pick and one that knows the truth have."""

    series: Series
    groups: tuple[int, ...]
    chosen: tuple[Estimate, ...]
    random: tuple[Estimate, ...]
    oracle: tuple[Estimate, ...]


def choosing(sets: Sequence[GroupSet]) -> Section:
    """The Best@K curve."""
    found = [(one, [_curve(series) for series in one.series]) for one in sets]
    return Section(
        "best-at-k",
        "Best@K",
        (
            (
                "How often the patch believed most among K drawn from a group is correct, over every draw, ties averaged. A "
                "random pick is the floor; the oracle finds a correct patch wherever there is one."
            ),
        ),
        figures=tuple(_figure(group_set, curves) for group_set, curves in found),
        tables=tuple(_table(group_set, curves) for group_set, curves in found),
        missing=tuple(
            f"{group_set.name}: no group has two patches, so there is nothing to choose."
            for group_set, curves in found
            if all(len(one.chosen) == 1 for one in curves)
        ),
    )


def _curve(series: Series) -> _Curve:
    most = max(len(group.patches) for group in series.judged)
    counts = range(1, most + 1)
    large = [sum(len(group.patches) >= count for group in series.judged) for count in counts]
    return _Curve(
        series,
        tuple(large),
        *(
            tuple(_best_at(series, count, belief) for count in counts)
            for belief in (_standing, _nothing, _truth)
        ),
    )


def _best_at(series: Series, count: int, belief: Callable[[JudgedPatch], float | None]) -> Estimate:
    large = [group for group in series.judged if len(group.patches) >= count]
    issue = numbered([group.instance_id for group in large])
    values = array(
        [
            best_at_k([(belief(one), one.resolved) for one in group.patches], count)
            for group in large
        ]
    )
    return means(values, np.zeros(len(large), dtype=np.intp), 1, issue)[0]


def _standing(patch: JudgedPatch) -> float | None:
    return patch.standing


def _nothing(_patch: JudgedPatch) -> None:
    return None


def _truth(patch: JudgedPatch) -> float:
    return float(patch.resolved)


def _figure(group_set: GroupSet, curves: Sequence[_Curve]) -> Figure:
    largest = max(curves, key=lambda one: one.series.patches)
    told = "; ".join(
        f"{one.series.label} {said(one.chosen[-1])} for K = {len(one.chosen)}" for one in curves
    )
    return Figure(
        f"best-at-k-{group_set.slug}",
        group_set.name,
        f"With 95 % intervals; random and oracle on the groups of {largest.series.label}. {group_set.counted}",
        f"Best@K on {group_set.name}: {told}; random {said(largest.random[-1])}, oracle {said(largest.oracle[-1])}.",
        Curves(
            "K",
            "the chosen patch is correct",
            (
                Curve("oracle", GREY, _points(largest.oracle)),
                *(
                    Curve(one.series.label, one.series.colour, _points(one.chosen))
                    for one in curves
                ),
                Curve("random", GREY, _points(largest.random)),
            ),
            ticks=tuple(str(at + 1) for at in range(max(len(one.chosen) for one in curves))),
        ),
    )


def _points(estimates: Sequence[Estimate]) -> tuple[tuple[float, Estimate], ...]:
    return tuple((float(at), one) for at, one in enumerate(estimates))


def _table(group_set: GroupSet, curves: Sequence[_Curve]) -> Table:
    return Table(
        group_set.name,
        (("verifier", 1), ("K", 1), ("groups", 1), ("Best@K", 2), ("random", 1), ("oracle", 1)),
        tuple(
            (
                one.series.label,
                str(at + 1),
                str(one.groups[at]),
                *cells(one.chosen[at]),
                number(one.random[at].value),
                number(one.oracle[at].value),
            )
            for one in curves
            for at in range(len(one.chosen))
        ),
    )
