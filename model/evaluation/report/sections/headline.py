"""Sections: the runs, and their metrics beside constants and the paper (pure)."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import cast

from model.evaluation.bootstrap import Estimate
from model.evaluation.evaluation_document import BASELINES
from model.evaluation.metrics import METRICS
from model.evaluation.report.content import (
    Figure,
    Gap,
    Part,
    Section,
    Table,
    TableRow,
    list_estimates,
)
from model.evaluation.report.drawing import GREY, Panel, draw_dots
from model.evaluation.report.paper_results import COMPARISON_NOTE, PUBLISHED_RESULTS
from model.evaluation.report.series import GroupSet, Series, clean_name, read_estimate
from model.verdict_json import Json

_SHOWN = {"accuracy": "Accuracy", "f1": "F1", "exact_match": "Exact match"}


def build_runs_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section that lists each series with its engine, votes and numbers of groups."""
    text = "Intervals on this page are 95 %, from 1,000 draws of issues with replacement."
    names = ("file", "verifier", "engine", "model", "votes", "issues", "groups", "patches")
    table = Table(
        "Judged groups by file and verifier",
        (*names, "correct", "calibrated"),
        [_build_row(group_set, series) for group_set in sets for series in group_set.series],
        words=4,
    )
    return Section(
        "runs", "The runs", (text, table, *chain.from_iterable(map(_list_partial, sets)))
    )


def _list_partial(group_set: GroupSet) -> Iterator[Gap]:
    """Yield series that judged fewer groups of a file than other series."""
    all_groups = frozenset[str]().union(*(series.group_ids for series in group_set.series))
    for series in group_set.series:
        if series.group_ids != all_groups:
            reason = (
                f"judged {len(series.group_ids)} of the {len(all_groups)} groups that others judged, whose share of correct patches "
                "differs. Only the paired differences hold them against others on the same groups."
            )
            yield Gap(reason, series.label, group_set.name)


def _build_row(group_set: GroupSet, series: Series) -> tuple[str, ...]:
    key, document = series.key, series.document
    counts = (document[name] for name in ("issues", "groups", "patches", "correct_patches"))
    return (
        group_set.name,
        series.label,
        clean_name(key.engine.name),
        clean_name(key.engine.model),
        *map(str, (key.votes, *counts)),
        "yes" if document["calibrated"] else "no",
    )


def build_headline_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on accuracy, F1 and exact match of each verifier.

    For each group set, a figure and a table also show constant predictors and the R4P paper's results.
    """
    text = (
        "Constant predictors are the bar: always correct, never correct, or a coin. Every patch "
        "counts; a patch without an opinion is a coin toss. Exact match needs every patch of a "
        "group decided correctly."
    )
    parts = chain.from_iterable(map(_show_headline, sets))
    return Section("accuracy", "Accuracy, F1 and exact match", (text, COMPARISON_NOTE, *parts))


def _show_headline(group_set: GroupSet) -> Iterator[Part]:
    largest = group_set.largest
    constants = cast("Mapping[str, Mapping[str, Json]]", largest.document["constant_baselines"])
    judges: list[tuple[str, int, Mapping[str, Json]]] = [
        (series.label, series.colour, series.document) for series in group_set.series
    ]
    judges += [(name.replace("_", " "), GREY, constants[name]) for name in BASELINES]
    panels = [
        Panel(
            title,
            [
                (label, {colour: read_estimate(metrics, metric)})
                for label, colour, metrics in judges
            ],
            _list_references(metric),
        )
        for metric, title in _SHOWN.items()
    ]
    values = list_estimates(
        (series.label, read_estimate(series.document, "accuracy")) for series in group_set.series
    )
    yield Figure(
        f"accuracy-{group_set.slug}",
        group_set.name,
        f"Dots with 95 % intervals; grey ones are constants, on the groups of {largest.label}; dashed lines are the "
        f"paper's figures on its own groups. {group_set.size}",
        f"Accuracy on {group_set.name}: {values}. F1 and exact match below it; all numbers are in the table.",
        partial(draw_dots, panels),
    )
    rows: list[TableRow] = [
        (label, *(read_estimate(metrics, metric) for metric in _SHOWN))
        for label, _, metrics in judges
    ]
    paper: list[TableRow] = [
        (f"{name} (paper)", *(Estimate(values.get(metric), None, None) for metric in _SHOWN))
        for name, values in PUBLISHED_RESULTS.items()
    ]
    head = ("who", *_SHOWN.values())
    yield Table(f"{group_set.name}. {group_set.size}", head, rows + paper)


def _list_references(metric: str) -> list[tuple[str, float]]:
    """List the published values of a metric as lines with labels."""
    return [
        (f"{name}: {values[metric]:.1%}", values[metric])
        for name, values in PUBLISHED_RESULTS.items()
        if metric in values
    ]


def build_metrics_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section with every metric of `r4p evaluate`, as a table for each group set."""
    text = (
        "The values of r4p evaluate; a dash stands where a metric is undefined. ECE is never "
        "negative and resampling raises it, so its interval may lie above its value."
    )
    return Section("metrics", "All metrics", (text, *map(_build_metric_table, sets)))


def _build_metric_table(group_set: GroupSet) -> Table:
    series = group_set.series
    rows: list[TableRow] = [
        (metric.replace("_", " "), *(read_estimate(each.document, metric) for each in series))
        for metric in METRICS
    ]
    head = ("metric", *(each.label for each in series))
    return Table(f"{group_set.name}. {group_set.size}", head, rows)
