"""Section: how often the chosen patch is correct, as Best@K (pure)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import to_array
from model.evaluation.metrics import compute_best_by_majority, compute_best_by_rank, has_edits
from model.evaluation.report.content import (
    GREY,
    Curve,
    Curves,
    Figure,
    Section,
    Table,
    build_head,
    format_cells,
    format_estimate,
    format_number,
)
from model.evaluation.report.rate_intervals import estimate_means, number_names
from model.evaluation.report.series import GroupSet, Series, format_reasons
from model.voting.selection import compute_best_at_k


@dataclass(frozen=True, slots=True)
class _Curve:
    """Best@K of one series for K = 1, 2, …, with random, oracle and majority as references."""

    series: Series
    groups: tuple[int, ...]
    chosen: tuple[Estimate, ...]
    random: tuple[Estimate, ...]
    oracle: tuple[Estimate, ...]
    majority: tuple[Estimate, ...] | None
    """None where the run file does not tell which patches make the same edit."""


def build_selection_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section with the Best@K curves."""
    curves_by_set = [
        (group_set, [_build_curve(series) for series in group_set.series]) for group_set in sets
    ]
    return Section(
        "best-at-k",
        "Best@K",
        (
            (
                "How often the patch with the highest standing among K drawn from a group is correct, "
                "over every draw, ties averaged. A random pick is chance; the majority takes the edit "
                "that most of the K patches make, ignoring line numbers; the oracle finds a correct patch "
                "wherever one exists."
            ),
            (
                "Every opinion was given once, with all rivals of the group in view, and is not asked for "
                "again among K. A verifier that compares (r4p, two rounds, pairwise, consensus, or a "
                "hybrid) might answer differently about K alone, so its curve is exact at the full size "
                "of the group and an estimate below. The majority is counted anew."
            ),
        ),
        figures=tuple(_build_figure(group_set, curves) for group_set, curves in curves_by_set),
        tables=tuple(_build_table(group_set, curves) for group_set, curves in curves_by_set),
        missing=tuple(_list_gaps(curves_by_set)),
    )


def _list_gaps(curves_by_set: Sequence[tuple[GroupSet, Sequence[_Curve]]]) -> Iterator[str]:
    for group_set, curves in curves_by_set:
        if all(len(curve.chosen) == 1 for curve in curves):
            yield f"{group_set.name}: no group has two patches, so there is nothing to choose."
    yield from format_reasons(
        (group_set.name, curve.series.label, _UNTOLD)
        for group_set, curves in curves_by_set
        for curve in curves
        if curve.majority is None
    )


_UNTOLD = (
    "the run file does not tell which patches make the same edit, as an older version wrote it, so "
    "there is no majority for its groups."
)


def _build_curve(series: Series) -> _Curve:
    most = max(len(group.patches) for group in series.judged)
    counts = range(1, most + 1)
    large = [sum(len(group.patches) >= count for group in series.judged) for count in counts]

    def curve(chosen: _Chosen) -> tuple[Estimate, ...]:
        return tuple(_estimate_best(series, count, chosen) for count in counts)

    return _Curve(
        series,
        tuple(large),
        chosen=curve(compute_best_by_rank),
        random=curve(_pick_at_random),
        oracle=curve(_pick_knowing),
        majority=curve(compute_best_by_majority) if has_edits(series.judged) else None,
    )


_Chosen = Callable[[JudgedGroup, int], float]


def _estimate_best(series: Series, count: int, chosen: _Chosen) -> Estimate:
    large = [group for group in series.judged if len(group.patches) >= count]
    issue = number_names([group.instance_id for group in large])
    values = to_array([chosen(group, count) for group in large])
    return estimate_means(values, np.zeros(len(large), dtype=np.intp), 1, issue)[0]


def _pick_at_random(group: JudgedGroup, count: int) -> float:
    return compute_best_at_k([(None, patch.resolved) for patch in group.patches], count)


def _pick_knowing(group: JudgedGroup, count: int) -> float:
    return compute_best_at_k(
        [(float(patch.resolved), patch.resolved) for patch in group.patches], count
    )


def _build_figure(group_set: GroupSet, curves: Sequence[_Curve]) -> Figure:
    largest = max(curves, key=lambda curve: curve.series.patch_count)
    references = _list_references(largest)
    values = "; ".join(
        f"{curve.series.label} {format_estimate(curve.chosen[-1])} for K = {len(curve.chosen)}"
        for curve in curves
    )
    beside = ", ".join(
        f"{name} {format_estimate(points[-1])}" for name, points in references.items()
    )
    return Figure(
        f"best-at-k-{group_set.slug}",
        group_set.name,
        f"With 95 % intervals; {', '.join(references)} on the groups of {largest.series.label}. {group_set.size}",
        f"Best@K on {group_set.name}: {values}; {beside}.",
        Curves(
            "K",
            "the chosen patch is correct",
            (
                *(
                    Curve(curve.series.label, curve.series.colour, _number_points(curve.chosen))
                    for curve in curves
                ),
                *(Curve(name, GREY, _number_points(points)) for name, points in references.items()),
            ),
            ticks=tuple(
                str(index + 1) for index in range(max(len(curve.chosen) for curve in curves))
            ),
        ),
    )


def _list_references(curve: _Curve) -> dict[str, tuple[Estimate, ...]]:
    """List the reference curves by name."""
    counted = {"majority": curve.majority} if curve.majority else {}
    return {"oracle": curve.oracle, **counted, "random": curve.random}


def _number_points(estimates: Sequence[Estimate]) -> tuple[tuple[float, Estimate], ...]:
    return tuple((float(index), estimate) for index, estimate in enumerate(estimates))


def _build_table(group_set: GroupSet, curves: Sequence[_Curve]) -> Table:
    return Table(
        group_set.name,
        (
            *build_head(("verifier", "K", "groups"), ("Best@K", "majority")),
            ("random", 1),
            ("oracle", 1),
        ),
        tuple(
            (
                curve.series.label,
                str(index + 1),
                str(curve.groups[index]),
                *format_cells(curve.chosen[index]),
                *(format_cells(curve.majority[index]) if curve.majority else ("–", "–")),
                format_number(curve.random[index].value),
                format_number(curve.oracle[index].value),
            )
            for curve in curves
            for index in range(len(curve.chosen))
        ),
    )
