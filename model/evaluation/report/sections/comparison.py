"""Verifiers against each other, on the groups that both judged (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from model.evaluation import metrics
from model.evaluation.bootstrap import Estimate, differences, estimates, issues
from model.evaluation.judgement_columns import columns
from model.evaluation.report.content import (
    Dots,
    Figure,
    Line,
    Mark,
    Panel,
    Row,
    Scale,
    Section,
    Table,
    cells,
    head,
    said,
)
from model.evaluation.report.sections.error_types import false_positives
from model.evaluation.report.series import GroupSet, Series, counted

GROUP_WISE, POINTWISE = "r4p", "pointwise"
"""The same words to the same model: about a group, and about one patch."""
_DIFFERING = {
    "accuracy": metrics.accuracy,
    "f1": metrics.f1,
    "exact_match": metrics.exact_match,
    "best_of_group": metrics.best_of_group,
    "auroc": metrics.auroc,
    "brier": metrics.brier,
}
_GROUP_WISE = {
    "accuracy": metrics.accuracy,
    "f1": metrics.f1,
    "exact_match": metrics.exact_match,
    "false_positives": false_positives,
}


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two series cut down to what both judged."""

    one: Series
    other: Series

    @property
    def name(self) -> str:
        return f"{self.one.label} − {self.other.label}"


def differing(sets: Sequence[GroupSet]) -> Section:
    """Every two verifiers: how much more the one has."""
    pairs = [(one, _pairs(one.series)) for one in sets]
    return Section(
        "differences",
        "Paired differences",
        (
            (
                "What the first has more of than the second on the groups that both judged; the same issues in every draw. "
                "An interval without zero is a difference that other issues would hardly undo. For Brier, less is better."
            ),
        ),
        figures=tuple(_differing_figure(group_set, found) for group_set, found in pairs if found),
        tables=tuple(_differing_table(group_set, found) for group_set, found in pairs if found),
        missing=tuple(
            f"{group_set.name}: no two verifiers judged the same groups, so there is nothing to compare."
            for group_set, found in pairs
            if not found
        ),
    )


def group_wise(sets: Sequence[GroupSet]) -> Section:
    """The paper's ablation."""
    pairs = [(one, _same_model(one.series)) for one in sets]
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
            _group_wise_figure(group_set, pair, at)
            for group_set, found in pairs
            for at, pair in enumerate(found)
        ),
        tables=tuple(
            _group_wise_table(group_set, pair) for group_set, found in pairs for pair in found
        ),
        missing=tuple(
            f"{group_set.name}: nobody ran both {GROUP_WISE} and {POINTWISE} with one model on the same groups."
            for group_set, found in pairs
            if not found
        ),
    )


def _pairs(series: Sequence[Series]) -> list[_Pair]:
    cut = (_both(one, other) for one, other in combinations(series, 2))
    return [pair for pair in cut if pair]


def _same_model(series: Sequence[Series]) -> list[_Pair]:
    """Each group-wise series beside its pointwise ones."""
    cut = (
        _both(one, other)
        for one in series
        for other in series
        if (one.key.verifier, other.key.verifier) == (GROUP_WISE, POINTWISE)
        and (one.key.engine.name, one.key.engine.model)
        == (other.key.engine.name, other.key.engine.model)
    )
    return [pair for pair in cut if pair]


def _both(one: Series, other: Series) -> _Pair | None:
    shared = {group.key.group for group in one.judged} & {group.key.group for group in other.judged}
    if not shared:
        return None
    left, right = (
        tuple(sorted((g for g in run.judged if g.key.group in shared), key=lambda g: g.key.group))
        for run in (one, other)
    )
    return _Pair(replace(one, judged=left), replace(other, judged=right))


def _differing_figure(group_set: GroupSet, pairs: Sequence[_Pair]) -> Figure:
    found = {pair.name: _difference(pair)["accuracy"] for pair in pairs}
    return Figure(
        f"differences-{group_set.slug}",
        group_set.name,
        f"Difference in accuracy with 95 % intervals. {_counts(pairs)}",
        f"Differences in accuracy on {group_set.name}: "
        + "; ".join(f"{name} {said(one)}" for name, one in found.items())
        + ".",
        Dots(
            (
                Panel(
                    "Difference in accuracy",
                    tuple(
                        Row(pair.name, (Mark(pair.one.colour, found[pair.name]),)) for pair in pairs
                    ),
                    (Line("", 0.0),),
                ),
            ),
            scale=Scale.DIFFERENCE,
        ),
    )


def _differing_table(group_set: GroupSet, pairs: Sequence[_Pair]) -> Table:
    names = ("difference", "metric", "issues", "patches")
    return Table(
        group_set.name,
        head(names, ["first − second"]),
        tuple(
            (
                pair.name,
                metric.replace("_", " "),
                str(len({group.instance_id for group in pair.one.judged})),
                str(pair.one.patches),
                *cells(found),
            )
            for pair in pairs
            for metric, found in _difference(pair).items()
        ),
        words=2,
    )


def _difference(pair: _Pair) -> dict[str, Estimate]:
    return differences(pair.one.judged, pair.other.judged, _DIFFERING)


def _counts(pairs: Sequence[_Pair]) -> str:
    return counted((pair.name, pair.one.counted) for pair in pairs)


def _measured(series: Series) -> Mapping[str, Estimate]:
    return estimates(columns(series.judged), issues(series.judged), _GROUP_WISE)


def _group_wise_figure(group_set: GroupSet, pair: _Pair, at: int) -> Figure:
    both = [(one, _measured(one)) for one in (pair.one, pair.other)]
    told = "; ".join(f"{one.label} {said(found['accuracy'])}" for one, found in both)
    return Figure(
        f"group-wise-{group_set.slug}" + (f"-{at + 1}" if at else ""),
        group_set.name,
        f"Shares with 95 % intervals. {pair.one.counted}.",
        f"Accuracy on {group_set.name}: {told}.",
        Dots(
            tuple(
                Panel(
                    name.replace("_", " ").capitalize(),
                    tuple(Row(one.label, (Mark(one.colour, found[name]),)) for one, found in both),
                )
                for name in _GROUP_WISE
            )
        ),
    )


def _group_wise_table(group_set: GroupSet, pair: _Pair) -> Table:
    difference = differences(pair.one.judged, pair.other.judged, _GROUP_WISE)
    rows = (
        (pair.one.label, _measured(pair.one)),
        (pair.other.label, _measured(pair.other)),
        (pair.name, difference),
    )
    return Table(
        f"{group_set.name}. {pair.one.counted}.",
        head(["verifier"], [name.replace("_", " ") for name in _GROUP_WISE]),
        tuple(
            (name, *(cell for one in found.values() for cell in cells(one))) for name, found in rows
        ),
    )
