"""Section: how often the chosen patch is correct, as Best@K (pure)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

import numpy as np

from model.evaluation.bootstrap import Estimate
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import to_array
from model.evaluation.metrics import compute_best_by_majority, compute_best_by_rank, has_edits
from model.evaluation.rate_intervals import estimate_means, number_names
from model.evaluation.report.content import (
    Figure,
    Gap,
    Part,
    Section,
    Table,
    TableRow,
    format_estimate,
)
from model.evaluation.report.drawing import GREY, draw_curves
from model.evaluation.report.series import GroupSet, Series
from model.voting.selection import compute_best_at_k

_UNTOLD = (
    "the run file does not tell which patches make the same edit, as an older version wrote it, so "
    "there is no majority for its groups."
)
_CHOSEN, _ORACLE, _MAJORITY, _RANDOM = "chosen", "oracle", "majority", "random"
_UNDEFINED = Estimate(None, None, None)
_Curves = dict[str, list[Estimate]]
_Choose = Callable[[JudgedGroup, int], float]


def build_selection_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on Best@K: how often the patch chosen among K is correct.

    It has curves and a table for each group set.
    """
    text = (
        "How often the patch with the highest standing among K drawn from a group is correct, "
        "over every draw, ties averaged. A random pick is chance; the majority takes the edit "
        "that most of the K patches make, ignoring line numbers; the oracle finds a correct patch "
        "wherever one exists."
    )
    caution = (
        "Every opinion was given once, with all rivals of the group in view, and is not asked for "
        "again among K. A verifier that compares (r4p, two rounds, pairwise, consensus, or a "
        "hybrid) might answer differently about K alone, so its curve is exact at the full size "
        "of the group and an estimate below. The majority is counted anew."
    )
    parts = chain.from_iterable(map(_show_selection, sets))
    return Section("best-at-k", "Best@K", (text, caution, *parts))


def _show_selection(group_set: GroupSet) -> Iterator[Part]:
    measured = {series: _estimate_curves(series) for series in group_set.series}
    yield _build_figure(group_set, measured)
    head = ("verifier", "K", "groups", "Best@K", "majority", "random", "oracle")
    yield Table(
        group_set.name, head, [row for item in measured.items() for row in _list_rows(*item)]
    )
    if all(len(curves[_CHOSEN]) == 1 for curves in measured.values()):
        yield Gap(f"{group_set.name}: no group has two patches, so there is nothing to choose.")
    for series, curves in measured.items():
        if _MAJORITY not in curves:
            yield Gap(_UNTOLD, series.label, group_set.name)


def _estimate_curves(series: Series) -> _Curves:
    """Estimate Best@K for K = 1, 2, … by name: of the verifier, and of the references."""
    choices: dict[str, _Choose] = {_CHOSEN: compute_best_by_rank, _ORACLE: _pick_knowing}
    # older run files do not tell which patches make the same edit
    if has_edits(series.judged):
        choices[_MAJORITY] = compute_best_by_majority
    choices[_RANDOM] = _pick_at_random
    counts = range(1, max(len(group.patches) for group in series.judged) + 1)
    return {
        name: [_estimate_best(series, count, choose) for count in counts]
        for name, choose in choices.items()
    }


def _estimate_best(series: Series, count: int, choose: _Choose) -> Estimate:
    large = _list_large(series, count)
    issue = number_names([group.instance_id for group in large])
    values = to_array([choose(group, count) for group in large])
    return estimate_means(values, np.zeros(len(large), dtype=np.intp), 1, issue)[0]


def _list_large(series: Series, count: int) -> list[JudgedGroup]:
    return [group for group in series.judged if len(group.patches) >= count]


def _pick_at_random(group: JudgedGroup, count: int) -> float:
    return compute_best_at_k([(None, patch.resolved) for patch in group.patches], count)


def _pick_knowing(group: JudgedGroup, count: int) -> float:
    ranked = [(float(patch.resolved), patch.resolved) for patch in group.patches]
    return compute_best_at_k(ranked, count)


def _build_figure(group_set: GroupSet, measured: Mapping[Series, _Curves]) -> Figure:
    largest = group_set.largest
    references = {name: points for name, points in measured[largest].items() if name != _CHOSEN}
    chosen = [(series, curves[_CHOSEN]) for series, curves in measured.items()]
    values = "; ".join(
        f"{series.label} {format_estimate(points[-1])} for K = {len(points)}"
        for series, points in chosen
    )
    beside = ", ".join(
        f"{name} {format_estimate(points[-1])}" for name, points in references.items()
    )
    drawn = [
        *((series.label, series.colour, list(enumerate(points))) for series, points in chosen),
        *((name, GREY, list(enumerate(points))) for name, points in references.items()),
    ]
    ticks = [str(index + 1) for index in range(max(len(points) for _, points in chosen))]
    return Figure(
        f"best-at-k-{group_set.slug}",
        group_set.name,
        f"With 95 % intervals; {', '.join(references)} on the groups of {largest.label}. {group_set.size}",
        f"Best@K on {group_set.name}: {values}; {beside}.",
        partial(draw_curves, drawn, ("K", "the chosen patch is correct"), ticks=ticks),
    )


def _list_rows(series: Series, curves: _Curves) -> Iterator[TableRow]:
    for index, chosen in enumerate(curves[_CHOSEN]):
        groups = len(_list_large(series, index + 1))
        majority = curves[_MAJORITY][index] if _MAJORITY in curves else _UNDEFINED
        random, oracle = curves[_RANDOM][index].value, curves[_ORACLE][index].value
        yield series.label, index + 1, groups, chosen, majority, random, oracle
