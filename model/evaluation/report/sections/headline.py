"""Sections: the runs, and their metrics beside constants and the paper (pure)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
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
from model.evaluation.report.paper_results import CEILING, COMPARISON_NOTE, PUBLISHED_RESULTS
from model.evaluation.report.series import GroupSet, Series, clean_name, read_estimate
from model.verdict_json import Json

_BELIEF_METRICS = {
    "coverage_at_90": "Coverage at 90 %",
    "auroc": "AUROC",
    "ece": "ECE (lower is better)",
}
_DECISION_METRICS = {"accuracy": "Accuracy", "f1": "F1", "exact_match": "Exact match"}


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
    """Build the report section on what each verifier's beliefs and forced decisions are worth.

    For each group set, a figure and a table show coverage at 90 %, AUROC and ECE. Another pair shows accuracy, F1 and
    exact match, with the R4P paper's results. Both also show constant predictors.
    """
    text = (
        "Coverage at 90 % is the largest share of patches, from the most certain on, of which nine in ten are decided "
        "rightly. A reader who trusts only sure verdicts gets this share. The limit is chosen on the same patches, so "
        "it flatters. AUROC is the chance that a correct patch has a higher belief than an incorrect one, and ECE is "
        "how far beliefs lie from the shares that came true. A coin has a small ECE where half of the patches are "
        f"correct, so read ECE beside the others. {CEILING}"
    )
    bar = (
        "Constant predictors are the bar: always correct, never correct, or a coin. Every patch "
        "counts; a patch without an opinion is a coin toss. Exact match needs every patch of a "
        "group decided correctly."
    )
    parts = chain.from_iterable(map(_show_headline, sets))
    return Section(
        "accuracy",
        "Coverage at 90 %, AUROC, ECE and accuracy",
        (text, bar, COMPARISON_NOTE, *parts),
    )


def _show_headline(group_set: GroupSet) -> Iterator[Part]:
    largest = group_set.largest
    grey = f"Dots with 95 % intervals; grey ones are constants, on the groups of {largest.label}"
    yield from _show_metrics(group_set, "coverage", _BELIEF_METRICS, f"{grey}.")
    paper = "dashed lines are the paper's figures on its own groups."
    yield from _show_metrics(group_set, "accuracy", _DECISION_METRICS, f"{grey}; {paper}")


def _show_metrics(
    group_set: GroupSet, name: str, shown: Mapping[str, str], caption: str
) -> Iterator[Part]:
    """Yield a figure with a panel for each of some metrics, and a table with a column for each.

    `shown` has the titles by metric name. The alternative text of the figure tells the first metric.
    """
    judges = _list_judges(group_set)
    panels = [_build_panel(metric, title, judges) for metric, title in shown.items()]
    (lead, lead_title), *others = shown.items()
    values = list_estimates(
        (series.label, read_estimate(series.document, lead)) for series in group_set.series
    )
    below = " and ".join(title for _, title in others)
    yield Figure(
        f"{name}-{group_set.slug}",
        group_set.name,
        f"{caption} {group_set.size}",
        f"{lead_title} on {group_set.name}: {values}. {below} below it; all numbers are in the table.",
        partial(draw_dots, panels),
    )
    rows: list[TableRow] = [
        (label, *(read_estimate(metrics, metric) for metric in shown))
        for label, _, metrics in judges
    ]
    head = ("who", *shown.values())
    yield Table(f"{group_set.name}. {group_set.size}", head, rows + _list_paper_rows(shown))


def _list_judges(group_set: GroupSet) -> list[tuple[str, int, Mapping[str, Json]]]:
    """List label, colour index and metrics of each series, then of each constant predictor."""
    constants = cast(
        "Mapping[str, Mapping[str, Json]]", group_set.largest.document["constant_baselines"]
    )
    return [
        *((series.label, series.colour, series.document) for series in group_set.series),
        *((name.replace("_", " "), GREY, constants[name]) for name in BASELINES),
    ]


def _build_panel(
    metric: str, title: str, judges: Sequence[tuple[str, int, Mapping[str, Json]]]
) -> Panel:
    rows = [(label, {colour: read_estimate(metrics, metric)}) for label, colour, metrics in judges]
    return Panel(title, rows, _list_references(metric))


def _list_paper_rows(shown: Collection[str]) -> list[TableRow]:
    """List a row for each published system that reports one of the metrics `shown`."""
    return [
        (f"{name} (paper)", *(Estimate(values.get(metric), None, None) for metric in shown))
        for name, values in PUBLISHED_RESULTS.items()
        if not values.keys().isdisjoint(shown)
    ]


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
