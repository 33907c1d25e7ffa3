"""What choosing by a verifier is worth: Best@K (pure)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import array
from model.evaluation.metrics import by_most, by_standing, tells_edits
from model.evaluation.report.content import (
    GREY,
    Curve,
    Curves,
    Figure,
    Section,
    Table,
    cells,
    head,
    number,
    said,
)
from model.evaluation.report.rate_intervals import means, numbered
from model.evaluation.report.series import GroupSet, Series, reasons
from model.voting.selection import best_at_k


@dataclass(frozen=True, slots=True)
class _Curve:
    """Best@K for K = 1, 2, …, beside what it takes no verifier for, and what one that knows the truth has."""

    series: Series
    groups: tuple[int, ...]
    chosen: tuple[Estimate, ...]
    random: tuple[Estimate, ...]
    oracle: tuple[Estimate, ...]
    majority: tuple[Estimate, ...] | None
    """None where the run file does not tell which patches make the same edit."""


def choosing(sets: Sequence[GroupSet]) -> Section:
    """The Best@K curve."""
    found = [(one, [_curve(series) for series in one.series]) for one in sets]
    return Section(
        "best-at-k",
        "Best@K",
        (
            (
                "How often the patch believed most among K drawn from a group is correct, over every draw, ties averaged. A "
                "random pick is chance; the majority takes the edit that most of the K make, line numbers aside; the "
                "oracle finds a correct patch wherever there is one."
            ),
            (
                "Every opinion was given once, with all rivals of the group to look at, and is not asked for again among K: a "
                "verifier that compares (r4p, two rounds, pairwise, consensus, a hybrid of them) might say otherwise of K alone, "
                "so its curve is right at the group's full size and a reading below it. The majority is counted anew."
            ),
        ),
        figures=tuple(_figure(group_set, curves) for group_set, curves in found),
        tables=tuple(_table(group_set, curves) for group_set, curves in found),
        missing=tuple(_missing(found)),
    )


def _missing(found: Sequence[tuple[GroupSet, Sequence[_Curve]]]) -> Iterator[str]:
    for group_set, curves in found:
        if all(len(one.chosen) == 1 for one in curves):
            yield f"{group_set.name}: no group has two patches, so there is nothing to choose."
    yield from reasons(
        (group_set.name, one.series.label, _UNTOLD)
        for group_set, curves in found
        for one in curves
        if one.majority is None
    )


_UNTOLD = (
    "the run file does not tell which patches make the same edit, as an older version wrote it, so "
    "there is no majority for its groups."
)


def _curve(series: Series) -> _Curve:
    most = max(len(group.patches) for group in series.judged)
    counts = range(1, most + 1)
    large = [sum(len(group.patches) >= count for group in series.judged) for count in counts]

    def curve(chosen: _Chosen) -> tuple[Estimate, ...]:
        return tuple(_best_at(series, count, chosen) for count in counts)

    return _Curve(
        series,
        tuple(large),
        chosen=curve(by_standing),
        random=curve(_at_random),
        oracle=curve(_knowing),
        majority=curve(by_most) if tells_edits(series.judged) else None,
    )


_Chosen = Callable[[JudgedGroup, int], float]


def _best_at(series: Series, count: int, chosen: _Chosen) -> Estimate:
    large = [group for group in series.judged if len(group.patches) >= count]
    issue = numbered([group.instance_id for group in large])
    values = array([chosen(group, count) for group in large])
    return means(values, np.zeros(len(large), dtype=np.intp), 1, issue)[0]


def _at_random(group: JudgedGroup, count: int) -> float:
    return best_at_k([(None, one.resolved) for one in group.patches], count)


def _knowing(group: JudgedGroup, count: int) -> float:
    return best_at_k([(float(one.resolved), one.resolved) for one in group.patches], count)


def _figure(group_set: GroupSet, curves: Sequence[_Curve]) -> Figure:
    largest = max(curves, key=lambda one: one.series.patches)
    references = _references(largest)
    told = "; ".join(
        f"{one.series.label} {said(one.chosen[-1])} for K = {len(one.chosen)}" for one in curves
    )
    beside = ", ".join(f"{name} {said(points[-1])}" for name, points in references.items())
    return Figure(
        f"best-at-k-{group_set.slug}",
        group_set.name,
        f"With 95 % intervals; {', '.join(references)} on the groups of {largest.series.label}. {group_set.counted}",
        f"Best@K on {group_set.name}: {told}; {beside}.",
        Curves(
            "K",
            "the chosen patch is correct",
            (
                *(
                    Curve(one.series.label, one.series.colour, _points(one.chosen))
                    for one in curves
                ),
                *(Curve(name, GREY, _points(points)) for name, points in references.items()),
            ),
            ticks=tuple(str(at + 1) for at in range(max(len(one.chosen) for one in curves))),
        ),
    )


def _references(of: _Curve) -> dict[str, tuple[Estimate, ...]]:
    """Who is no verifier."""
    counted = {"majority": of.majority} if of.majority else {}
    return {"oracle": of.oracle, **counted, "random": of.random}


def _points(estimates: Sequence[Estimate]) -> tuple[tuple[float, Estimate], ...]:
    return tuple((float(at), one) for at, one in enumerate(estimates))


def _table(group_set: GroupSet, curves: Sequence[_Curve]) -> Table:
    return Table(
        group_set.name,
        (*head(("verifier", "K", "groups"), ("Best@K", "majority")), ("random", 1), ("oracle", 1)),
        tuple(
            (
                one.series.label,
                str(at + 1),
                str(one.groups[at]),
                *cells(one.chosen[at]),
                *(cells(one.majority[at]) if one.majority else ("–", "–")),
                number(one.random[at].value),
                number(one.oracle[at].value),
            )
            for one in curves
            for at in range(len(one.chosen))
        ),
    )
