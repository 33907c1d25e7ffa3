"""Sections: paired differences between verifiers on the groups that both judged (pure)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, combinations, permutations

from model.evaluation import metrics
from model.evaluation.bootstrap import estimate_differences, estimate_metrics, index_issues
from model.evaluation.judged_group import JudgedGroup
from model.evaluation.report.content import (
    Figure,
    Gap,
    Part,
    Section,
    Table,
    TableRow,
    list_estimates,
)
from model.evaluation.report.drawing import Panel, draw_dots, show_differences
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
_Pair = tuple[Series, Series]


def build_differences_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on paired differences in metrics between every two verifiers.

    For each group set it has a figure and a table, or a note (Gap) if no two verifiers judged the same groups.
    """
    text = (
        "The first verifier minus the second, on the groups that both judged; every draw takes "
        "the same issues of both. With an interval without zero, other issues would hardly "
        "reverse the difference. For Brier, less is better."
    )
    parts = chain.from_iterable(map(_show_differences, sets))
    return Section("differences", "Paired differences", (text, *parts))


def _show_differences(group_set: GroupSet) -> Iterator[Part]:
    pairs = _restrict_pairs(combinations(group_set.series, 2))
    if not pairs:
        yield Gap(
            f"{group_set.name}: no two verifiers judged the same groups, so there is nothing to compare."
        )
        return
    differences = [
        estimate_differences(first.judged, second.judged, _DIFFERING) for first, second in pairs
    ]
    names = [_name_pair(pair) for pair in pairs]
    accuracies = [difference["accuracy"] for difference in differences]
    rows = [
        (name, {first.colour: accuracy})
        for name, (first, _), accuracy in zip(names, pairs, accuracies, strict=True)
    ]
    counts = format_counts(
        (name, first.size) for name, (first, _) in zip(names, pairs, strict=True)
    )
    values = list_estimates(zip(names, accuracies, strict=True))
    yield Figure(
        f"differences-{group_set.slug}",
        group_set.name,
        f"Difference in accuracy with 95 % intervals. {counts}",
        f"Differences in accuracy on {group_set.name}: {values}.",
        partial(
            draw_dots, [Panel("Difference in accuracy", rows, [("", 0.0)])], scale=show_differences
        ),
    )
    yield Table(
        group_set.name,
        ("difference", "metric", "issues", "patches", "first − second"),
        [
            (name, metric.replace("_", " "), first.issue_count, first.patch_count, estimate)
            for name, (first, _), difference in zip(names, pairs, differences, strict=True)
            for metric, estimate in difference.items()
        ],
        words=2,
    )


def build_group_wise_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section that compares judging whole groups (`r4p`) with judging single patches (`pointwise`).

    It has a figure and a table for each pair of runs with the same model. A group set without such a pair gets a note
    (Gap).
    """
    text = (
        "The same model asked about a whole group (r4p) and about each patch alone (pointwise), on the groups that "
        "both judged. The paper finds that alone, patches are held to be correct too often."
    )
    parts = chain.from_iterable(map(_show_group_wise, sets))
    return Section("group-wise", "Group-wise and pointwise", (text, *parts))


def _show_group_wise(group_set: GroupSet) -> Iterator[Part]:
    pairs = _restrict_pairs(filter(_has_one_model, permutations(group_set.series, 2)))
    if not pairs:
        yield Gap(
            f"{group_set.name}: no run of {GROUP_WISE} and {POINTWISE} with one model on the same groups."
        )
    for index, pair in enumerate(pairs):
        slug = f"{group_set.slug}-{index + 1}" if index else group_set.slug
        yield from _compare_pair(group_set.name, slug, pair)


def _has_one_model(pair: _Pair) -> bool:
    """Check for a group-wise and a pointwise series of one model."""
    first, second = pair[0].key, pair[1].key
    return (first.verifier, second.verifier) == (GROUP_WISE, POINTWISE) and (
        first.engine.name,
        first.engine.model,
    ) == (second.engine.name, second.engine.model)


def _compare_pair(name: str, slug: str, pair: _Pair) -> Iterator[Part]:
    measured = [
        (series, estimate_metrics(series.columns, index_issues(series.judged), _GROUP_WISE))
        for series in pair
    ]
    names = [metric.replace("_", " ") for metric in _GROUP_WISE]
    panels = [
        Panel(
            title.capitalize(),
            [(series.label, {series.colour: estimates[metric]}) for series, estimates in measured],
        )
        for metric, title in zip(_GROUP_WISE, names, strict=True)
    ]
    values = list_estimates((series.label, estimates["accuracy"]) for series, estimates in measured)
    yield Figure(
        f"group-wise-{slug}",
        name,
        f"Shares with 95 % intervals. {pair[0].size}.",
        f"Accuracy on {name}: {values}.",
        partial(draw_dots, panels),
    )
    difference = estimate_differences(pair[0].judged, pair[1].judged, _GROUP_WISE)
    rows: list[TableRow] = [(series.label, *estimates.values()) for series, estimates in measured]
    rows.append((_name_pair(pair), *difference.values()))
    yield Table(f"{name}. {pair[0].size}.", ("verifier", *names), rows)


def _name_pair(pair: _Pair) -> str:
    return f"{pair[0].label} − {pair[1].label}"


def _restrict_pairs(pairs: Iterator[_Pair]) -> list[_Pair]:
    """Restrict both series of each pair to the groups that both judged. Pairs without such groups are dropped."""
    restricted = []
    for pair in pairs:
        shared = pair[0].group_ids & pair[1].group_ids
        if shared:
            first, second = (
                replace(series, judged=_select_groups(series, shared)) for series in pair
            )
            restricted.append((first, second))
    return restricted


def _select_groups(series: Series, ids: frozenset[str]) -> tuple[JudgedGroup, ...]:
    kept = (group for group in series.judged if group.key.group in ids)
    return tuple(sorted(kept, key=lambda group: group.key.group))
