"""Which runs there are, and how right they are beside constants and the paper (pure)."""

from collections.abc import Mapping, Sequence
from typing import cast

from model.evaluation.bootstrap import Estimate
from model.evaluation.evaluation_document import BASELINES
from model.evaluation.metrics import METRICS
from model.evaluation.report.content import (
    GREY,
    Dots,
    Figure,
    Line,
    Mark,
    Panel,
    Row,
    Section,
    Table,
    cells,
    head,
    number,
    said,
)
from model.evaluation.report.paper_results import REPORTED, TERMS
from model.evaluation.report.series import GroupSet, Series, reasons, shown
from model.verdict_json import Json

_SHOWN = {"accuracy": "Accuracy", "f1": "F1", "exact_match": "Exact match"}


def runs(sets: Sequence[GroupSet]) -> Section:
    """What was read."""
    rows = [(group_set.name, *_run(series)) for group_set in sets for series in group_set.series]
    names = ("file", "verifier", "engine", "model", "votes", "issues", "groups", "patches")
    head_ = tuple((name, 1) for name in (*names, "correct", "calibrated"))
    return Section(
        "runs",
        "The runs",
        ("Intervals on this page are 95 %, from 1,000 draws of issues with replacement.",),
        tables=(Table("What was judged, and by whom", head_, tuple(rows), words=4),),
        missing=reasons(
            (one.name, series.label, _partly(series, one)) for one, series in _partial(sets)
        ),
    )


def _partial(sets: Sequence[GroupSet]) -> list[tuple[GroupSet, Series]]:
    """Who judged less of a file than others did."""
    return [
        (one, series)
        for one in sets
        for series in one.series
        if any(other.known - series.known for other in one.series)
    ]


def _partly(series: Series, group_set: GroupSet) -> str:
    every = frozenset[str]().union(*(one.known for one in group_set.series))
    return (
        f"judged {len(series.known)} of the {len(every)} groups that others judged, whose share of correct patches "
        "differs. Only the paired differences hold them against others on the same groups."
    )


def headline(sets: Sequence[GroupSet]) -> Section:
    """Accuracy, F1 and exact match."""
    return Section(
        "accuracy",
        "Accuracy, F1 and exact match",
        (
            (
                "Who looks at nothing is the bar: always correct, never correct, or a coin. Every patch counts; one without "
                "an opinion is a coin toss. Exact match asks for every patch of a group at once."
            ),
            TERMS,
        ),
        figures=tuple(_figure(group_set) for group_set in sets),
        tables=tuple(_table(group_set) for group_set in sets),
    )


def metrics(sets: Sequence[GroupSet]) -> Section:
    """Everything `r4p evaluate` measures."""
    return Section(
        "metrics",
        "All metrics",
        (
            (
                "As r4p evaluate prints them; a dash stands where a metric is not defined. ECE is never negative, and draws "
                "spread it upwards, so its interval may lie above its value."
            ),
        ),
        tables=tuple(
            Table(
                f"{group_set.name}. {group_set.counted}",
                head(["metric"], [series.label for series in group_set.series]),
                tuple(
                    (
                        metric.replace("_", " "),
                        *(
                            cell
                            for series in group_set.series
                            for cell in cells(measured(series.document, metric))
                        ),
                    )
                    for metric in METRICS
                ),
            )
            for group_set in sets
        ),
    )


def measured(document: Mapping[str, Json], metric: str) -> Estimate:
    """One metric of a document."""
    found = cast("Mapping[str, float | None]", document[metric])
    return Estimate(found["value"], found["low"], found["high"])


def _run(series: Series) -> tuple[str, ...]:
    key, made = series.key, series.document
    counts = (made["issues"], made["groups"], made["patches"], made["correct_patches"])
    return (
        series.label,
        shown(key.engine.name),
        shown(key.engine.model),
        str(key.votes),
        *map(str, counts),
        "yes" if made["calibrated"] else "no",
    )


def _constants(series: Series) -> Mapping[str, Mapping[str, Json]]:
    return cast("Mapping[str, Mapping[str, Json]]", series.document["constant_baselines"])


def _figure(group_set: GroupSet) -> Figure:
    constants = _constants(group_set.largest)
    told = "; ".join(
        f"{one.label} {said(measured(one.document, 'accuracy'))}" for one in group_set.series
    )
    return Figure(
        f"accuracy-{group_set.slug}",
        group_set.name,
        f"Dots with 95 % intervals; grey ones are constants, on the groups of {group_set.largest.label}; dashed lines are the "
        f"paper's figures on its own groups. {group_set.counted}",
        f"Accuracy on {group_set.name}: {told}. F1 and exact match below it; all numbers are in the table.",
        Dots(
            tuple(
                Panel(
                    title,
                    (
                        *(
                            Row(one.label, (Mark(one.colour, measured(one.document, metric)),))
                            for one in group_set.series
                        ),
                        *(
                            Row(
                                name.replace("_", " "),
                                (Mark(GREY, measured(constants[name], metric)),),
                            )
                            for name in BASELINES
                        ),
                    ),
                    tuple(
                        Line(one.name, value)
                        for one in REPORTED
                        if (value := getattr(one, metric)) is not None
                    ),
                )
                for metric, title in _SHOWN.items()
            )
        ),
    )


def _table(group_set: GroupSet) -> Table:
    def row(name: str, document: Mapping[str, Json]) -> tuple[str, ...]:
        found = [measured(document, metric) for metric in _SHOWN]
        return (name, *(cell for one in found for cell in cells(one)))

    paper = [
        (
            f"{one.name} (paper)",
            *(
                cell
                for value in (one.accuracy, one.f1, one.exact_match)
                for cell in (number(value), "–")
            ),
        )
        for one in REPORTED
    ]
    constants = _constants(group_set.largest)
    return Table(
        f"{group_set.name}. {group_set.counted}",
        head(["who"], _SHOWN.values()),
        (
            *(row(one.label, one.document) for one in group_set.series),
            *(row(name.replace("_", " "), constants[name]) for name in BASELINES),
            *paper,
        ),
    )
