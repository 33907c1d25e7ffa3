"""Which way verifiers err (pure)."""

from collections.abc import Sequence

from model.evaluation.bootstrap import Estimate, estimates, issues
from model.evaluation.judgement_columns import Columns, accepted
from model.evaluation.report.content import (
    Dots,
    Figure,
    Mark,
    Panel,
    Row,
    Section,
    Table,
    cells,
    head,
    said,
)
from model.evaluation.report.series import GroupSet, Series


def false_positives(of: Columns) -> float:
    """Share of incorrect patches that are accepted; NaN when there is none."""
    wrong = accepted(of.belief)[of.label == 0]
    return float(wrong.mean()) if len(wrong) else float("nan")


def false_negatives(of: Columns) -> float:
    """Share of correct patches that are rejected; NaN when there is none."""
    right = accepted(of.belief)[of.label == 1]
    return float(1 - right.mean()) if len(right) else float("nan")


RATES = {"false_positives": false_positives, "false_negatives": false_negatives}
"""By name, as `bootstrap.estimates` takes them."""
_TITLES = {
    "false_positives": "Incorrect patches that were accepted",
    "false_negatives": "Correct patches that were rejected",
}


def errors(sets: Sequence[GroupSet]) -> Section:
    """False positives and false negatives."""
    found = [(one, {series.label: _rates(series) for series in one.series}) for one in sets]
    return Section(
        "errors",
        "False positives and false negatives",
        (
            (
                "A false accept costs more than a false reject: a wrong patch that is recommended may be merged. A patch "
                "without an opinion counts half as each."
            ),
        ),
        figures=tuple(_figure(group_set, rates) for group_set, rates in found),
        tables=tuple(_table(group_set, rates) for group_set, rates in found),
    )


_Rates = dict[str, dict[str, Estimate]]


def _rates(series: Series) -> dict[str, Estimate]:
    return estimates(series.columns, issues(series.judged), RATES)


def _figure(group_set: GroupSet, rates: _Rates) -> Figure:
    told = "; ".join(
        f"{label} accepts {said(found['false_positives'])} of the incorrect and rejects "
        f"{said(found['false_negatives'])} of the correct"
        for label, found in rates.items()
    )
    return Figure(
        f"errors-{group_set.slug}",
        group_set.name,
        f"Shares with 95 % intervals; less is better. {group_set.counted}",
        f"On {group_set.name}: {told}.",
        Dots(
            tuple(
                Panel(
                    title,
                    tuple(
                        Row(one.label, (Mark(one.colour, rates[one.label][name]),))
                        for one in group_set.series
                    ),
                )
                for name, title in _TITLES.items()
            )
        ),
    )


def _table(group_set: GroupSet, rates: _Rates) -> Table:
    return Table(
        f"{group_set.name}. {group_set.counted}",
        head(["verifier"], ["false positives", "false negatives"]),
        tuple(
            (label, *cells(found["false_positives"]), *cells(found["false_negatives"]))
            for label, found in rates.items()
        ),
    )
