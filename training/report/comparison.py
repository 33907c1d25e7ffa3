"""Sections: the gate's decision, and metrics before and after training (pure)."""

from collections.abc import Iterator

from model.evaluation.bootstrap import Estimate
from model.evaluation.report.content import (
    DotPlot,
    Figure,
    Panel,
    PlotPoint,
    PlotRow,
    ReferenceLine,
    Scale,
    Section,
    Table,
    build_head,
    format_cells,
    format_count,
    format_estimate,
    format_number,
)
from training.evaluation import significance
from training.evaluation.metrics import LOWER_IS_BETTER, SHARES
from training.gate.gate_decision import PRIMARY, GateOutcome
from training.gate.gate_facts import ChampionComparison, GateFinding
from training.report.run_reader import TrainingRun

_BEFORE, _AFTER = 0, 1
_NAMES = ((_BEFORE, "before: the champion"), (_AFTER, "after: the candidate"))


def build_gate_section(run: TrainingRun) -> Section:
    """Build the section on the gate's decision, with every reason."""
    if not run.gate:
        return Section(
            "gate",
            "Gate",
            (),
            missing=(
                "gate.json is missing: the gate has not decided yet. Run r4p train evaluate.",
            ),
        )
    said_why = _format_sentence(str(run.gate.get("why", "")))
    decided = f"The gate said: {run.gate.get('outcome', 'unknown')}. {said_why}"
    rows = tuple(
        (finding.check, _format_answer(finding, run), finding.said) for finding in run.findings
    )
    table = Table(
        "Every check and its result. The rules were fixed before the measurement.",
        build_head(("check", "passed", "found"), ()),
        rows,
        words=3,
    )
    return Section("gate", "Gate", (decided.strip(),), tables=(table,) if rows else ())


def _format_answer(finding: GateFinding, run: TrainingRun) -> str:
    """Format a result. After a pass, an unmet optional check reads "not needed"."""
    if finding.passed:
        return "yes"
    return "not needed" if run.gate.get("outcome") == GateOutcome.PASSED else "no"


def _format_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""


def build_comparison_section(run: TrainingRun) -> Section:
    """Build the section on metrics of champion and candidate."""
    if not run.compared:
        return Section(
            "comparison",
            "Before and after",
            (),
            missing=(
                "evaluation.json is missing: this model has not been measured. Run r4p train evaluate.",
            ),
        )
    margin = _read_margin(run)
    text = (
        (
            "Candidate and champion judged the same groups, with the same prompts and sampler. Intervals "
            "are 95 %, from issues drawn with replacement."
        ),
        "Outcomes by maintainers and results of tests answer different questions; they are never pooled.",
        *(_describe_change(comparison) for comparison in run.compared),
    )
    figures = tuple(
        figure for comparison in run.compared for figure in _build_figures(comparison, margin)
    )
    tables = tuple(
        table
        for comparison in run.compared
        for table in (_build_metric_table(comparison), _build_constant_table(comparison))
    )
    return Section("comparison", "Before and after", text, figures, tables)


def _read_margin(run: TrainingRun) -> float | None:
    rules = run.gate.get("rules")
    margin = rules.get("margin") if isinstance(rules, dict) else None
    return float(margin) if isinstance(margin, int | float) else None


def _format_size(comparison: ChampionComparison) -> str:
    return f"{format_count(comparison.issues, 'issue')}, {format_count(comparison.groups, 'group')}, {format_count(comparison.patches, 'patch')}"


def _describe_change(comparison: ChampionComparison) -> str:
    before, after, difference = (
        format_estimate(estimates[PRIMARY])
        for estimates in (comparison.champion, comparison.candidate, comparison.difference)
    )
    return (
        f"{comparison.name}: {PRIMARY} {before} before, {after} after; difference {difference}. "
        f"{format_count(comparison.only_candidate, 'issue')} decided rightly by the candidate alone, {comparison.only_champion:,} by the champion "
        f"alone (exact McNemar, two-sided: {significance.format_p_value(comparison.p_differs)})."
    )


def _build_figures(comparison: ChampionComparison, margin: float | None) -> Iterator[Figure]:
    shares = [
        name
        for name in comparison.candidate
        if name in SHARES or name in {"balanced_accuracy", "brier"}
    ]
    values = "; ".join(
        f"{_format_label(name)} {format_estimate(comparison.champion[name])} before, {format_estimate(comparison.candidate[name])} after"
        for name in shares
    )
    yield Figure(
        f"values-{_build_slug(comparison.name)}",
        f"Before and after: {comparison.name}",
        f"{_format_size(comparison)}.",
        f"Metrics of champion and candidate with their intervals. {values}.",
        DotPlot((Panel("", tuple(_build_pair_row(comparison, name) for name in shares)),), _NAMES),
    )
    lines = (
        ReferenceLine("", 0.0),
        *((ReferenceLine("may not fall below", -margin),) if margin else ()),
    )
    values = "; ".join(
        f"{_format_label(name)} {format_estimate(comparison.difference[name])}" for name in shares
    )
    yield Figure(
        f"differences-{_build_slug(comparison.name)}",
        f"Candidate minus champion: {comparison.name}",
        f"{_format_size(comparison)}, paired by issue.",
        f"Differences of candidate and champion with their intervals. {values}.",
        DotPlot(
            (
                Panel(
                    "",
                    tuple(
                        PlotRow(
                            _format_label(name), (PlotPoint(_AFTER, comparison.difference[name]),)
                        )
                        for name in shares
                    ),
                    lines,
                ),
            ),
            scale=Scale.DIFFERENCE,
        ),
    )


def _build_pair_row(comparison: ChampionComparison, name: str) -> PlotRow:
    return PlotRow(
        _format_label(name),
        (
            PlotPoint(_BEFORE, comparison.champion[name]),
            PlotPoint(_AFTER, comparison.candidate[name]),
        ),
    )


def _format_label(name: str) -> str:
    plain = name.replace("_", " ")
    return f"{plain} (less is better)" if name in LOWER_IS_BETTER else plain


def _build_slug(name: str) -> str:
    return (
        "".join(character if character.isalnum() else "-" for character in name.lower()).strip("-")
        or "set"
    )


def _build_metric_table(comparison: ChampionComparison) -> Table:
    rows = tuple(
        (
            _format_label(name),
            *(
                cell
                for estimates in (comparison.champion, comparison.candidate, comparison.difference)
                for cell in _build_cells(estimates.get(name))
            ),
        )
        for name in comparison.candidate
    )
    return Table(
        f"{comparison.name}: {_format_size(comparison)}.",
        build_head(("metric",), ("before", "after", "difference")),
        rows,
    )


def _build_cells(estimate: Estimate | None) -> tuple[str, str]:
    return ("–", "–") if estimate is None else format_cells(estimate)


def _build_constant_table(comparison: ChampionComparison) -> Table:
    """Build the table of what constant judges reach."""
    rows = tuple(
        (
            _format_label(name),
            *(format_number(values.get(name)) for values in comparison.constants.values()),
        )
        for name in comparison.candidate
    )
    return Table(
        f"{comparison.name}: metrics of constant judges.",
        build_head(
            ("metric", *(constant.replace("_", " ") for constant in comparison.constants)), ()
        ),
        rows,
    )
