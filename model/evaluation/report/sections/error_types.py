"""Section: false positives and false negatives (pure)."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from model.evaluation.bootstrap import estimate_metrics, index_issues
from model.evaluation.judgement_columns import JudgementColumns, decide_acceptance
from model.evaluation.report.content import Figure, Part, Section, Table, format_estimate
from model.evaluation.report.drawing import Panel, draw_dots
from model.evaluation.report.series import GroupSet


def compute_false_positive_rate(columns: JudgementColumns) -> float:
    """Compute the share of incorrect patches that are accepted; NaN without incorrect patches.

    A patch with a belief of 0.5 counts half.
    """
    wrong = decide_acceptance(columns.belief)[columns.label == 0]
    return float(wrong.mean()) if len(wrong) else float("nan")


def compute_false_negative_rate(columns: JudgementColumns) -> float:
    """Compute the share of correct patches that are rejected; NaN without correct patches.

    A patch with a belief of 0.5 counts half.
    """
    right = decide_acceptance(columns.belief)[columns.label == 1]
    return float(1 - right.mean()) if len(right) else float("nan")


_RATES = {
    "Incorrect patches that were accepted": compute_false_positive_rate,
    "Correct patches that were rejected": compute_false_negative_rate,
}


def build_errors_section(sets: Sequence[GroupSet]) -> Section:
    """Build the report section on false positives and false negatives of each verifier.

    It has a figure and a table for each group set.
    """
    text = (
        "A false accept costs more than a false reject: a recommended wrong patch may be merged. "
        "A patch without an opinion counts half as each."
    )
    parts = chain.from_iterable(map(_show_errors, sets))
    return Section("errors", "False positives and false negatives", (text, *parts))


def _show_errors(group_set: GroupSet) -> Iterator[Part]:
    measured = [
        (series, estimate_metrics(series.columns, index_issues(series.judged), _RATES))
        for series in group_set.series
    ]
    panels = [
        Panel(title, [(series.label, {series.colour: rates[title]}) for series, rates in measured])
        for title in _RATES
    ]
    values = "; ".join(
        "{} accepts {} of the incorrect and rejects {} of the correct".format(
            series.label, *map(format_estimate, rates.values())
        )
        for series, rates in measured
    )
    yield Figure(
        f"errors-{group_set.slug}",
        group_set.name,
        f"Shares with 95 % intervals; less is better. {group_set.size}",
        f"On {group_set.name}: {values}.",
        partial(draw_dots, panels),
    )
    yield Table(
        f"{group_set.name}. {group_set.size}",
        ("verifier", "false positives", "false negatives"),
        [(series.label, *rates.values()) for series, rates in measured],
    )
