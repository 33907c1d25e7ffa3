"""Sections: paired differences between verifiers on the groups that both judged (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from model.evaluation import metrics
from model.evaluation.bootstrap import (
    Estimate,
    estimate_differences,
    estimate_metrics,
    index_issues,
)
from model.evaluation.judgement_columns import build_columns
from model.evaluation.report.content import (
    DotPlot,
    Figure,
    Panel,
    PlotPoint,
    PlotRow,
    ReferenceLine,
    Scale,
    Section,
    Table,
    build_head,
    format_cells,
    format_estimate,
)
from model.evaluation.report.sections.error_types import compute_false_positive_rate
from model.evaluation.report.series import GroupSet, Series, format_counts

GROUP_WISE, POINTWISE = "r4p", "pointwise"
"""Verifiers that send the same words about a group and about a single patch."""
_DIFFERING = {
    "accuracy": metrics.compute_accuracy,
    "f1": metrics.compute_f1,
    "exact_match": metrics.compute_exact_match,
    "best_of_group": metrics.compute_best_of_group,
    "auroc": metrics.compute_auroc,
    "brier": metrics.compute_brier,
}
_GROUP_WISE = {
    "accuracy": metrics.compute_accuracy,
    "f1": metrics.compute_f1,
    "exact_match": metrics.compute_exact_match,
    "false_positives": compute_false_positive_rate,
}


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two series, restricted to the groups that both judged."""

    one: Series
    other: Series

    @property
    def name(self) -> str:
        return f"{self.one.label} − {self.other.label}"


def build_differences_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on differences between every two verifiers."""
    pairs = [(group_set, _list_pairs(group_set.series)) for group_set in sets]
    return Section(
        "differences",
        "Paired differences",
        (
            (
                "The first verifier minus the second, on the groups that both judged; every draw takes "
                "the same issues of both. With an interval without zero, other issues would hardly "
                "reverse the difference. For Brier, less is better."
            ),
        ),
        figures=tuple(
            _build_difference_figure(group_set, compared_pairs)
            for group_set, compared_pairs in pairs
            if compared_pairs
        ),
        tables=tuple(
            _build_difference_table(group_set, compared_pairs)
            for group_set, compared_pairs in pairs
            if compared_pairs
        ),
        missing=tuple(
            f"{group_set.name}: no two verifiers judged the same groups, so there is nothing to compare."
            for group_set, compared_pairs in pairs
            if not compared_pairs
        ),
    )


def build_group_wise_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on the paper's ablation: group-wise against pointwise."""
    pairs = [(group_set, _list_same_model_pairs(group_set.series)) for group_set in sets]
    return Section(
        "group-wise",
        "Group-wise and pointwise",
        (
            (
                "The same model asked about a whole group (r4p) and about each patch alone (pointwise), on the groups that "
                "both judged. The paper finds that alone, patches are held to be correct too often."
            ),
        ),
        figures=tuple(
            _build_group_wise_figure(group_set, pair, index)
            for group_set, compared_pairs in pairs
            for index, pair in enumerate(compared_pairs)
        ),
        tables=tuple(
            _build_group_wise_table(group_set, pair)
            for group_set, compared_pairs in pairs
            for pair in compared_pairs
        ),
        missing=tuple(
            f"{group_set.name}: no run of {GROUP_WISE} and {POINTWISE} with one model on the same groups."
            for group_set, compared_pairs in pairs
            if not compared_pairs
        ),
    )


def _list_pairs(series: Sequence[Series]) -> list[_Pair]:
    cut = (_restrict_to_shared(first, second) for first, second in combinations(series, 2))
    return [pair for pair in cut if pair]


def _list_same_model_pairs(series: Sequence[Series]) -> list[_Pair]:
    """List pairs of a group-wise and a pointwise series of one model."""
    cut = (
        _restrict_to_shared(first, second)
        for first in series
        for second in series
        if (first.key.verifier, second.key.verifier) == (GROUP_WISE, POINTWISE)
        and (first.key.engine.name, first.key.engine.model)
        == (second.key.engine.name, second.key.engine.model)
    )
    return [pair for pair in cut if pair]


def _restrict_to_shared(first: Series, second: Series) -> _Pair | None:
    shared = {group.key.group for group in first.judged} & {
        group.key.group for group in second.judged
    }
    if not shared:
        return None
    left, right = (
        tuple(sorted((g for g in run.judged if g.key.group in shared), key=lambda g: g.key.group))
        for run in (first, second)
    )
    return _Pair(replace(first, judged=left), replace(second, judged=right))


def _build_difference_figure(group_set: GroupSet, pairs: Sequence[_Pair]) -> Figure:
    differences = {pair.name: _estimate_difference(pair)["accuracy"] for pair in pairs}
    return Figure(
        f"differences-{group_set.slug}",
        group_set.name,
        f"Difference in accuracy with 95 % intervals. {_format_counts(pairs)}",
        f"Differences in accuracy on {group_set.name}: "
        + "; ".join(
            f"{name} {format_estimate(difference)}" for name, difference in differences.items()
        )
        + ".",
        DotPlot(
            (
                Panel(
                    "Difference in accuracy",
                    tuple(
                        PlotRow(pair.name, (PlotPoint(pair.one.colour, differences[pair.name]),))
                        for pair in pairs
                    ),
                    (ReferenceLine("", 0.0),),
                ),
            ),
            scale=Scale.DIFFERENCE,
        ),
    )


def _build_difference_table(group_set: GroupSet, pairs: Sequence[_Pair]) -> Table:
    names = ("difference", "metric", "issues", "patches")
    return Table(
        group_set.name,
        build_head(names, ["first − second"]),
        tuple(
            (
                pair.name,
                metric.replace("_", " "),
                str(len({group.instance_id for group in pair.one.judged})),
                str(pair.one.patch_count),
                *format_cells(estimate),
            )
            for pair in pairs
            for metric, estimate in _estimate_difference(pair).items()
        ),
        words=2,
    )


def _estimate_difference(pair: _Pair) -> dict[str, Estimate]:
    return estimate_differences(pair.one.judged, pair.other.judged, _DIFFERING)


def _format_counts(pairs: Sequence[_Pair]) -> str:
    return format_counts((pair.name, pair.one.size) for pair in pairs)


def _estimate_series(series: Series) -> Mapping[str, Estimate]:
    return estimate_metrics(build_columns(series.judged), index_issues(series.judged), _GROUP_WISE)


def _build_group_wise_figure(group_set: GroupSet, pair: _Pair, index: int) -> Figure:
    both = [(series, _estimate_series(series)) for series in (pair.one, pair.other)]
    values = "; ".join(
        f"{series.label} {format_estimate(estimates['accuracy'])}" for series, estimates in both
    )
    return Figure(
        f"group-wise-{group_set.slug}" + (f"-{index + 1}" if index else ""),
        group_set.name,
        f"Shares with 95 % intervals. {pair.one.size}.",
        f"Accuracy on {group_set.name}: {values}.",
        DotPlot(
            tuple(
                Panel(
                    name.replace("_", " ").capitalize(),
                    tuple(
                        PlotRow(series.label, (PlotPoint(series.colour, estimates[name]),))
                        for series, estimates in both
                    ),
                )
                for name in _GROUP_WISE
            )
        ),
    )


def _build_group_wise_table(group_set: GroupSet, pair: _Pair) -> Table:
    difference = estimate_differences(pair.one.judged, pair.other.judged, _GROUP_WISE)
    rows = (
        (pair.one.label, _estimate_series(pair.one)),
        (pair.other.label, _estimate_series(pair.other)),
        (pair.name, difference),
    )
    return Table(
        f"{group_set.name}. {pair.one.size}.",
        build_head(["verifier"], [name.replace("_", " ") for name in _GROUP_WISE]),
        tuple(
            (name, *(cell for estimate in estimates.values() for cell in format_cells(estimate)))
            for name, estimates in rows
        ),
    )
