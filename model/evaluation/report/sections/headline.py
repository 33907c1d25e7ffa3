"""Sections: the runs, and their metrics beside constants and the paper (pure)."""

from collections.abc import Mapping, Sequence
from typing import cast

from model.evaluation.bootstrap import Estimate
from model.evaluation.evaluation_document import BASELINES
from model.evaluation.metrics import METRICS
from model.evaluation.report.content import (
    GREY,
    DotPlot,
    Figure,
    Panel,
    PlotPoint,
    PlotRow,
    ReferenceLine,
    Section,
    Table,
    build_head,
    format_cells,
    format_estimate,
    format_number,
)
from model.evaluation.report.paper_results import COMPARISON_NOTE, PUBLISHED_RESULTS
from model.evaluation.report.series import GroupSet, Series, clean_name, format_reasons
from model.verdict_json import Json

_SHOWN = {"accuracy": "Accuracy", "f1": "F1", "exact_match": "Exact match"}


def build_runs_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section that lists the runs."""
    rows = [
        (group_set.name, *_build_row(series)) for group_set in sets for series in group_set.series
    ]
    names = ("file", "verifier", "engine", "model", "votes", "issues", "groups", "patches")
    head_ = tuple((name, 1) for name in (*names, "correct", "calibrated"))
    return Section(
        "runs",
        "The runs",
        ("Intervals on this page are 95 %, from 1,000 draws of issues with replacement.",),
        tables=(Table("Judged groups by file and verifier", head_, tuple(rows), words=4),),
        missing=format_reasons(
            (group_set.name, series.label, _explain_partial(series, group_set))
            for group_set, series in _list_partial(sets)
        ),
    )


def _list_partial(sets: Sequence[GroupSet]) -> list[tuple[GroupSet, Series]]:
    """List series that judged fewer groups of a file than another series."""
    return [
        (group_set, series)
        for group_set in sets
        for series in group_set.series
        if any(rival_series.group_ids - series.group_ids for rival_series in group_set.series)
    ]


def _explain_partial(series: Series, group_set: GroupSet) -> str:
    all_groups = frozenset[str]().union(*(series.group_ids for series in group_set.series))
    return (
        f"judged {len(series.group_ids)} of the {len(all_groups)} groups that others judged, whose share of correct patches "
        "differs. Only the paired differences hold them against others on the same groups."
    )


def build_headline_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on accuracy, F1 and exact match."""
    return Section(
        "accuracy",
        "Accuracy, F1 and exact match",
        (
            (
                "Constant predictors are the bar: always correct, never correct, or a coin. Every patch "
                "counts; a patch without an opinion is a coin toss. Exact match needs every patch of a "
                "group decided correctly."
            ),
            COMPARISON_NOTE,
        ),
        figures=tuple(_build_figure(group_set) for group_set in sets),
        tables=tuple(_build_table(group_set) for group_set in sets),
    )


def build_metrics_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section with every metric of `r4p evaluate`."""
    return Section(
        "metrics",
        "All metrics",
        (
            (
                "The values of r4p evaluate; a dash stands where a metric is undefined. ECE is never "
                "negative and resampling raises it, so its interval may lie above its value."
            ),
        ),
        tables=tuple(
            Table(
                f"{group_set.name}. {group_set.size}",
                build_head(["metric"], [series.label for series in group_set.series]),
                tuple(
                    (
                        metric.replace("_", " "),
                        *(
                            cell
                            for series in group_set.series
                            for cell in format_cells(read_estimate(series.document, metric))
                        ),
                    )
                    for metric in METRICS
                ),
            )
            for group_set in sets
        ),
    )


def read_estimate(document: Mapping[str, Json], metric: str) -> Estimate:
    """Read the estimate of one metric from an `r4p.evaluate/1` document."""
    values = cast("Mapping[str, float | None]", document[metric])
    return Estimate(values["value"], values["low"], values["high"])


def _build_row(series: Series) -> tuple[str, ...]:
    key, document = series.key, series.document
    counts = (
        document["issues"],
        document["groups"],
        document["patches"],
        document["correct_patches"],
    )
    return (
        series.label,
        clean_name(key.engine.name),
        clean_name(key.engine.model),
        str(key.votes),
        *map(str, counts),
        "yes" if document["calibrated"] else "no",
    )


def _get_constants(series: Series) -> Mapping[str, Mapping[str, Json]]:
    return cast("Mapping[str, Mapping[str, Json]]", series.document["constant_baselines"])


def _build_figure(group_set: GroupSet) -> Figure:
    constants = _get_constants(group_set.largest)
    values = "; ".join(
        f"{series.label} {format_estimate(read_estimate(series.document, 'accuracy'))}"
        for series in group_set.series
    )
    return Figure(
        f"accuracy-{group_set.slug}",
        group_set.name,
        f"Dots with 95 % intervals; grey ones are constants, on the groups of {group_set.largest.label}; dashed lines are the "
        f"paper's figures on its own groups. {group_set.size}",
        f"Accuracy on {group_set.name}: {values}. F1 and exact match below it; all numbers are in the table.",
        DotPlot(
            tuple(
                Panel(
                    title,
                    (
                        *(
                            PlotRow(
                                series.label,
                                (PlotPoint(series.colour, read_estimate(series.document, metric)),),
                            )
                            for series in group_set.series
                        ),
                        *(
                            PlotRow(
                                name.replace("_", " "),
                                (PlotPoint(GREY, read_estimate(constants[name], metric)),),
                            )
                            for name in BASELINES
                        ),
                    ),
                    tuple(
                        ReferenceLine(result.name, value)
                        for result in PUBLISHED_RESULTS
                        if (value := getattr(result, metric)) is not None
                    ),
                )
                for metric, title in _SHOWN.items()
            )
        ),
    )


def _build_table(group_set: GroupSet) -> Table:
    def row(name: str, document: Mapping[str, Json]) -> tuple[str, ...]:
        estimates = [read_estimate(document, metric) for metric in _SHOWN]
        return (name, *(cell for estimate in estimates for cell in format_cells(estimate)))

    paper = [
        (
            f"{result.name} (paper)",
            *(
                cell
                for value in (result.accuracy, result.f1, result.exact_match)
                for cell in (format_number(value), "–")
            ),
        )
        for result in PUBLISHED_RESULTS
    ]
    constants = _get_constants(group_set.largest)
    return Table(
        f"{group_set.name}. {group_set.size}",
        build_head(["who"], _SHOWN.values()),
        (
            *(row(series.label, series.document) for series in group_set.series),
            *(row(name.replace("_", " "), constants[name]) for name in BASELINES),
            *paper,
        ),
    )
