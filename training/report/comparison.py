"""Before and after on the evaluation groups, and what the gate said of it (pure)."""

from collections.abc import Iterator

from model.evaluation.bootstrap import Estimate
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
    many,
    number,
    said,
)
from training.evaluation import significance
from training.evaluation.metrics import LOWER_IS_BETTER, SHARES
from training.gate.gate_decision import PRIMARY, Outcome
from training.gate.gate_facts import Compared, Finding
from training.report.run_reader import RunFolder

_BEFORE, _AFTER = 0, 1
_NAMES = ((_BEFORE, "before: the champion"), (_AFTER, "after: the candidate"))


def gate(run: RunFolder) -> Section:
    """The decision, with every reason."""
    if not run.gate:
        return Section(
            "gate",
            "Gate",
            (),
            missing=(
                "gate.json is missing: nobody has decided whether this model may come into use. r4p train evaluate does.",
            ),
        )
    said_why = _sentence(str(run.gate.get("why", "")))
    decided = f"The gate said: {run.gate.get('outcome', 'unknown')}. {said_why}"
    rows = tuple((one.check, _answer(one, run), one.said) for one in run.findings)
    table = Table(
        "Every question, and its answer. Rules were fixed before the run was looked at.",
        head(("check", "passed", "found"), ()),
        rows,
        words=3,
    )
    return Section("gate", "Gate", (decided.strip(),), tables=(table,) if rows else ())


def _answer(one: Finding, run: RunFolder) -> str:
    """What a gate tells besides when it passed, a set with too few issues for instance, was no condition."""
    if one.passed:
        return "yes"
    return "not needed" if run.gate.get("outcome") == Outcome.PASSED else "no"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" if text else ""


def comparison(run: RunFolder) -> Section:
    """How both did on groups that neither was trained on."""
    if not run.compared:
        return Section(
            "comparison",
            "Before and after",
            (),
            missing=(
                "evaluation.json is missing: nobody has measured this model. r4p train evaluate does.",
            ),
        )
    margin = _margin(run)
    text = (
        "Candidate and champion judged the same groups, by the same prompts and sampler. Intervals are 95 %, from issues drawn with replacement.",
        "What maintainers did and what tests say are different questions; they are never pooled.",
        *(_told(one) for one in run.compared),
    )
    figures = tuple(figure for one in run.compared for figure in _figures(one, margin))
    tables = tuple(table for one in run.compared for table in (_numbers(one), _constants(one)))
    return Section("comparison", "Before and after", text, figures, tables)


def _margin(run: RunFolder) -> float | None:
    rules = run.gate.get("rules")
    found = rules.get("margin") if isinstance(rules, dict) else None
    return float(found) if isinstance(found, int | float) else None


def _counted(one: Compared) -> str:
    return f"{many(one.issues, 'issue')}, {many(one.groups, 'group')}, {many(one.patches, 'patch')}"


def _told(one: Compared) -> str:
    before, after, difference = (
        said(of[PRIMARY]) for of in (one.champion, one.candidate, one.difference)
    )
    return (
        f"{one.name}: {PRIMARY} {before} before, {after} after; difference {difference}. "
        f"{many(one.only_candidate, 'issue')} decided rightly by the candidate alone, {one.only_champion:,} by the champion "
        f"alone (exact McNemar, two-sided: {significance.told(one.p_differs)})."
    )


def _figures(one: Compared, margin: float | None) -> Iterator[Figure]:
    shares = [
        name for name in one.candidate if name in SHARES or name in {"balanced_accuracy", "brier"}
    ]
    told = "; ".join(
        f"{_label(name)} {said(one.champion[name])} before, {said(one.candidate[name])} after"
        for name in shares
    )
    yield Figure(
        f"values-{_slug(one.name)}",
        f"Before and after: {one.name}",
        f"{_counted(one)}.",
        f"Metrics of champion and candidate with their intervals. {told}.",
        Dots((Panel("", tuple(_both(one, name) for name in shares)),), _NAMES),
    )
    lines = (Line("", 0.0), *((Line("may not fall below", -margin),) if margin else ()))
    told = "; ".join(f"{_label(name)} {said(one.difference[name])}" for name in shares)
    yield Figure(
        f"differences-{_slug(one.name)}",
        f"What the candidate has more: {one.name}",
        f"{_counted(one)}, paired by issue.",
        f"Differences of candidate and champion with their intervals. {told}.",
        Dots(
            (
                Panel(
                    "",
                    tuple(
                        Row(_label(name), (Mark(_AFTER, one.difference[name]),)) for name in shares
                    ),
                    lines,
                ),
            ),
            scale=Scale.DIFFERENCE,
        ),
    )


def _both(one: Compared, name: str) -> Row:
    return Row(_label(name), (Mark(_BEFORE, one.champion[name]), Mark(_AFTER, one.candidate[name])))


def _label(name: str) -> str:
    plain = name.replace("_", " ")
    return f"{plain} (less is better)" if name in LOWER_IS_BETTER else plain


def _slug(name: str) -> str:
    return "".join(one if one.isalnum() else "-" for one in name.lower()).strip("-") or "set"


def _numbers(one: Compared) -> Table:
    rows = tuple(
        (
            _label(name),
            *(
                cell
                for of in (one.champion, one.candidate, one.difference)
                for cell in _cells(of.get(name))
            ),
        )
        for name in one.candidate
    )
    return Table(
        f"{one.name}: {_counted(one)}.",
        head(("metric",), ("before", "after", "difference")),
        rows,
    )


def _cells(of: Estimate | None) -> tuple[str, str]:
    return ("–", "–") if of is None else cells(of)


def _constants(one: Compared) -> Table:
    """What is reached without reading anything."""
    rows = tuple(
        (_label(name), *(number(values.get(name)) for values in one.constants.values()))
        for name in one.candidate
    )
    return Table(
        f"{one.name}: what somebody reaches who says the same of every patch.",
        head(("metric", *(who.replace("_", " ") for who in one.constants)), ()),
        rows,
    )
