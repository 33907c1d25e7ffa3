"""Sections: the gate's decision, and metrics before and after training (pure)."""

from collections.abc import Iterator
from functools import partial
from itertools import chain

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import (
    Figure,
    Gap,
    Part,
    Section,
    Table,
    format_count,
    format_estimate,
    format_size,
    list_estimates,
)
from model.evaluation.report.drawing import Panel, draw_dots, show_differences
from training.evaluation import significance
from training.evaluation.metrics import LOWER_IS_BETTER, SHARES
from training.gate.gate_decision import PRIMARY, GateOutcome
from training.gate.gate_facts import ChampionComparison, GateFinding
from training.report.run_reader import TrainingRun

_BEFORE, _AFTER = 0, 1
_NAMES = ((_BEFORE, "before: the champion"), (_AFTER, "after: the candidate"))
_UNDEFINED = Estimate(None, None, None)


def build_gate_section(run: TrainingRun) -> Section:
    """Build the report section on the gate's decision, with a table of its checks.

    Without `gate.json` in the run's folder, the section only says that the gate has not decided yet.
    """
    if not run.gate:
        gap = Gap("gate.json is missing: the gate has not decided yet. Run r4p train evaluate.")
        return Section("gate", "Gate", (gap,))
    why = str(run.gate.get("why", ""))
    sentence = f" {why[:1].upper()}{why[1:].removesuffix('.')}." if why else ""
    decided = f"The gate said: {run.gate.get('outcome', 'unknown')}.{sentence}"
    table = Table(
        "Every check and its result. The rules were fixed before the measurement.",
        ("check", "passed", "found"),
        [(finding.check, _format_answer(finding, run), finding.answer) for finding in run.findings],
        words=3,
    )
    return Section("gate", "Gate", (decided, table) if run.findings else (decided,))


def _format_answer(finding: GateFinding, run: TrainingRun) -> str:
    """Format a result. After a pass, an unmet optional check reads "not needed"."""
    if finding.passed:
        return "yes"
    return "not needed" if run.gate.get("outcome") == GateOutcome.PASSED else "no"


def build_comparison_section(run: TrainingRun) -> Section:
    """Build the report section that compares champion and candidate on each set of labelled groups.

    Without `evaluation.json` in the run's folder, the section only says that the model was not measured.
    """
    if not run.compared:
        gap = (
            "evaluation.json is missing: this model has not been measured. Run r4p train evaluate."
        )
        return Section("comparison", "Before and after", (Gap(gap),))
    text = (
        "Candidate and champion judged the same groups, with the same prompts and sampler. Intervals "
        "are 95 %, from issues drawn with replacement."
    )
    sources = "Outcomes by maintainers and results of tests answer different questions; they are never pooled."
    margin = _read_margin(run)
    parts = chain.from_iterable(_show_comparison(compared, margin) for compared in run.compared)
    return Section("comparison", "Before and after", (text, sources, *parts))


def _read_margin(run: TrainingRun) -> float | None:
    rules = run.gate.get("rules")
    margin = rules.get("margin") if isinstance(rules, dict) else None
    return float(margin) if isinstance(margin, int | float) else None


def _show_comparison(compared: ChampionComparison, margin: float | None) -> Iterator[Part]:
    yield _describe_change(compared)
    yield _build_value_figure(compared)
    yield _build_difference_figure(compared, margin)
    sides = (compared.champion, compared.candidate, compared.difference)
    yield Table(
        f"{compared.name}: {_format_size(compared)}.",
        ("metric", "before", "after", "difference"),
        [
            (_format_label(name), *(side.get(name, _UNDEFINED) for side in sides))
            for name in compared.candidate
        ],
    )
    yield Table(
        f"{compared.name}: metrics of constant judges.",
        ("metric", *(constant.replace("_", " ") for constant in compared.constants)),
        [
            (_format_label(name), *(values.get(name) for values in compared.constants.values()))
            for name in compared.candidate
        ],
    )


def _format_size(compared: ChampionComparison) -> str:
    return format_size(compared.issues, compared.groups, compared.patches)


def _describe_change(compared: ChampionComparison) -> str:
    before, after, difference = (
        format_estimate(estimates[PRIMARY])
        for estimates in (compared.champion, compared.candidate, compared.difference)
    )
    return (
        f"{compared.name}: {PRIMARY} {before} before, {after} after; difference {difference}. "
        f"{format_count(compared.only_candidate, 'issue')} decided rightly by the candidate alone, {compared.only_champion:,} by the champion "
        f"alone (exact McNemar, two-sided: {significance.format_p_value(compared.p_differs)})."
    )


def _list_shares(compared: ChampionComparison) -> list[str]:
    shown = SHARES | {"balanced_accuracy", "brier"}
    return [name for name in compared.candidate if name in shown]


def _build_value_figure(compared: ChampionComparison) -> Figure:
    pairs = [
        (_format_label(name), compared.champion[name], compared.candidate[name])
        for name in _list_shares(compared)
    ]
    values = "; ".join(
        f"{label} {format_estimate(before)} before, {format_estimate(after)} after"
        for label, before, after in pairs
    )
    rows = [(label, {_BEFORE: before, _AFTER: after}) for label, before, after in pairs]
    return Figure(
        f"values-{_build_slug(compared.name)}",
        f"Before and after: {compared.name}",
        f"{_format_size(compared)}.",
        f"Metrics of champion and candidate with their intervals. {values}.",
        partial(draw_dots, [Panel("", rows)], legend=_NAMES),
    )


def _build_difference_figure(compared: ChampionComparison, margin: float | None) -> Figure:
    differences = [
        (_format_label(name), compared.difference[name]) for name in _list_shares(compared)
    ]
    lines = [("", 0.0)]
    if margin:
        lines.append((f"may not fall below: {-100 * margin:+.3g}", -margin))
    panel = Panel("", [(label, {_AFTER: estimate}) for label, estimate in differences], lines)
    return Figure(
        f"differences-{_build_slug(compared.name)}",
        f"Candidate minus champion: {compared.name}",
        f"{_format_size(compared)}, paired by issue.",
        f"Differences of candidate and champion with their intervals. {list_estimates(differences)}.",
        partial(draw_dots, [panel], scale=show_differences),
    )


def _format_label(name: str) -> str:
    plain = name.replace("_", " ")
    return f"{plain} (less is better)" if name in LOWER_IS_BETTER else plain


def _build_slug(name: str) -> str:
    characters = (character if character.isalnum() else "-" for character in name.lower())
    return "".join(characters).strip("-") or "set"
