"""Section: false positives and false negatives (pure)."""

from collections.abc import Sequence

from model.evaluation.bootstrap import Estimate, estimate_metrics, index_issues
from model.evaluation.judgement_columns import JudgementColumns, decide_acceptance
from model.evaluation.report.content import (
    DotPlot,
    Figure,
    Panel,
    PlotPoint,
    PlotRow,
    Section,
    Table,
    build_head,
    format_cells,
    format_estimate,
)
from model.evaluation.report.series import GroupSet, Series


def compute_false_positive_rate(columns: JudgementColumns) -> float:
    """Share of incorrect patches that are accepted; NaN without any."""
    wrong = decide_acceptance(columns.belief)[columns.label == 0]
    return float(wrong.mean()) if len(wrong) else float("nan")


def compute_false_negative_rate(columns: JudgementColumns) -> float:
    """Share of correct patches that are rejected; NaN without any."""
    right = decide_acceptance(columns.belief)[columns.label == 1]
    return float(1 - right.mean()) if len(right) else float("nan")


RATES = {
    "false_positives": compute_false_positive_rate,
    "false_negatives": compute_false_negative_rate,
}
"""Error rates by name, for `bootstrap.estimate_metrics`."""
_TITLES = {
    "false_positives": "Incorrect patches that were accepted",
    "false_negatives": "Correct patches that were rejected",
}


def build_errors_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on false positives and false negatives."""
    rates_by_set = [
        (group_set, {series.label: _estimate_rates(series) for series in group_set.series})
        for group_set in sets
    ]
    return Section(
        "errors",
        "False positives and false negatives",
        (
            (
                "A false accept costs more than a false reject: a recommended wrong patch may be merged. "
                "A patch without an opinion counts half as each."
            ),
        ),
        figures=tuple(_build_figure(group_set, rates) for group_set, rates in rates_by_set),
        tables=tuple(_build_table(group_set, rates) for group_set, rates in rates_by_set),
    )


_Rates = dict[str, dict[str, Estimate]]


def _estimate_rates(series: Series) -> dict[str, Estimate]:
    return estimate_metrics(series.columns, index_issues(series.judged), RATES)


def _build_figure(group_set: GroupSet, rates: _Rates) -> Figure:
    values = "; ".join(
        f"{label} accepts {format_estimate(estimates['false_positives'])} of the incorrect and rejects "
        f"{format_estimate(estimates['false_negatives'])} of the correct"
        for label, estimates in rates.items()
    )
    return Figure(
        f"errors-{group_set.slug}",
        group_set.name,
        f"Shares with 95 % intervals; less is better. {group_set.size}",
        f"On {group_set.name}: {values}.",
        DotPlot(
            tuple(
                Panel(
                    title,
                    tuple(
                        PlotRow(
                            series.label, (PlotPoint(series.colour, rates[series.label][name]),)
                        )
                        for series in group_set.series
                    ),
                )
                for name, title in _TITLES.items()
            )
        ),
    )


def _build_table(group_set: GroupSet, rates: _Rates) -> Table:
    return Table(
        f"{group_set.name}. {group_set.size}",
        build_head(["verifier"], ["false positives", "false negatives"]),
        tuple(
            (
                label,
                *format_cells(estimates["false_positives"]),
                *format_cells(estimates["false_negatives"]),
            )
            for label, estimates in rates.items()
        ),
    )
