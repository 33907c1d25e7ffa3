"""Whether a trained model may come into use: nothing broken, nothing leaked, and no worse than the champion (pure).

Non-inferiority with a margin that is fixed before anybody looks: where the whole 95 % interval of the difference lies
above minus the margin, and the difference itself is an improvement, the candidate passes. A superiority test on the
few fresh issues of a week would pass nobody, or noise. All sets of groups have to pass, so that trying several makes
passing harder and no correction is due. Labels by maintainers and by benchmarks are different sets.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from app.learning.gate_rules import Rules
from model.evaluation.bootstrap import Estimate
from training.evaluation import significance
from training.gate import step_findings
from training.gate.gate_facts import Compared, Finding, Provenance

SCHEMA = "r4p.gate/1"
PRIMARY = "reward"
"""What was trained for, unreadable answers included: has to improve, on every set."""
GUARDED = (PRIMARY, "balanced_accuracy")
"""May not become worse by more than the margin. The second sees who says the same of every patch."""
_COSTLY = "false_accepts"
"""May not be surely more: a guard with a margin would ask for more issues than there are."""


class Outcome(StrEnum):
    """What follows for the candidate."""

    PASSED = "passed"
    FAILED = "failed"
    TOO_FEW = "too few"
    """Issues to decide by: it waits for more, and is not served meanwhile."""


@dataclass(frozen=True, slots=True)
class Gate:
    """The decision, with every reason."""

    outcome: Outcome
    findings: tuple[Finding, ...]
    rules: Rules
    by_outcomes: bool = False
    """What maintainers did is among what decided; without that no program makes the candidate the champion."""

    @property
    def why(self) -> str:
        """In one line."""
        against = [one for one in self.findings if not one.passed]
        return "; ".join(f"{one.check}: {one.said}" for one in against) or "passed every check"

    def document(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return {"schema": SCHEMA, "why": self.why, **asdict(self)}


def decide(
    provenance: Provenance,
    objections: Sequence[str],
    compared: Sequence[Compared],
    rules: Rules,
) -> Gate:
    """Whether the candidate passes. `objections`: what vLLM would refuse of its adapter.

    A set with too few issues decides nothing; when none has enough, nothing is decided. Where benchmarks alone
    decide, that is said.
    """
    sound = (*_integrity(provenance, rules), _loadable(objections))
    enough = [one for one in compared if one.issues >= rules.least_issues]
    few = [_few(one, rules) for one in compared if one not in enough]
    measured = [finding for one in enough for finding in _no_worse(one, rules)]
    by_outcomes = any(one.by_outcomes for one in enough)
    told = [] if by_outcomes else [_by_tests(rules)]
    findings = (*sound, *measured, *few, *told) if enough else (*sound, *(few or [_none()]))
    if not all(one.passed for one in (*sound, *measured)):
        return Gate(Outcome.FAILED, findings, rules, by_outcomes)
    return Gate(Outcome.PASSED if enough else Outcome.TOO_FEW, findings, rules, by_outcomes)


def refusal(error: str, rules: Rules) -> Gate:
    """The gate of a candidate that could not be measured at all."""
    return Gate(Outcome.FAILED, (Finding("measured", passed=False, said=error),), rules)


def _integrity(of: Provenance, rules: Rules) -> tuple[Finding, ...]:
    both = sorted(of.trained_on & of.measured_on)
    return (
        Finding("run", of.status == "finished", f"the run is {of.status}"),
        _same("adapter", of.adapter, of.adapter_now),
        _same("dataset", of.dataset, of.dataset_now),
        Finding("labels", of.label_rule in {None, of.label_rule_now}, _rule(of)),
        Finding("leak", not both, _shared(both)),
        *step_findings.findings(of.steps, rules, samples=of.samples),
    )


def _same(what: str, before: str, now: str) -> Finding:
    said = "is what the run wrote down" if before == now else f"was {before[:12]}, is {now[:12]}"
    return Finding(what, before == now, said)


def _rule(of: Provenance) -> str:
    if of.label_rule is None:
        return "by tests"
    return f"by rule {of.label_rule}; today's is {of.label_rule_now}"


def _shared(issues: Sequence[str]) -> str:
    if not issues:
        return "no issue was trained on and measured on"
    return f"{len(issues)} issues were trained on and measured on, such as {issues[0]}"


def _loadable(objections: Sequence[str]) -> Finding:
    return Finding("loadable", not objections, "; ".join(objections) or "a plain LoRA adapter")


def _no_worse(one: Compared, rules: Rules) -> list[Finding]:
    guarded = [_guarded(one, name, rules) for name in GUARDED]
    readable = one.candidate["format_valid"].value
    least = rules.least_format_valid
    said = "no vote was asked" if readable is None else f"{readable:.1%} can be read"
    improves = [_improves(one, rules)] if rules.must_improve or rules.must_be_better else []
    return [
        *guarded,
        *improves,
        _no_costlier(one, rules),
        Finding(
            f"{one.name}: replies",
            readable is not None and readable >= least,
            f"{said}; {least:.0%} is the least; {one.unanswered} groups were left unanswered",
        ),
        Finding(
            f"{one.name}: issues decided rightly",
            one.p_worse >= rules.alpha,
            f"{one.only_candidate} by the candidate alone, {one.only_champion} by the champion alone, "
            f"one-sided {significance.told(one.p_worse)}",
        ),
    ]


def _guarded(one: Compared, name: str, rules: Rules) -> Finding:
    found = one.difference[name]
    passed = found.low is not None and found.low >= -rules.margin
    said = f"{_shown(found)} on {one.issues} issues; may not fall below {-rules.margin:+.3f}"
    return Finding(f"{one.name}: {name} no worse", passed, said)


def _improves(one: Compared, rules: Rules) -> Finding:
    found = one.difference[PRIMARY]
    value = found.low if rules.must_be_better else found.value
    passed = value is not None and value > 0
    what = "lower end" if rules.must_be_better else "difference"
    return Finding(f"{one.name}: {PRIMARY} improves", passed, f"{what} of {_shown(found)}")


def _no_costlier(one: Compared, rules: Rules) -> Finding:
    found = one.difference[_COSTLY]
    passed = found.low is None or found.low <= rules.margin
    said = f"{_shown(found)}; the whole interval may not lie above {rules.margin:+.3f}"
    return Finding(f"{one.name}: {_COSTLY} not surely more", passed, said)


def _shown(one: Estimate) -> str:
    if one.value is None:
        return "unknown"
    if one.low is None or one.high is None:
        return f"{one.value:+.3f}"
    return f"{one.value:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"


def _few(one: Compared, rules: Rules) -> Finding:
    said = f"{one.issues}; {rules.least_issues} are needed to decide by it"
    return Finding(f"{one.name}: issues", passed=False, said=said)


def _by_tests(rules: Rules) -> Finding:
    said = (
        f"no set that maintainers labelled has {rules.least_issues} issues, benchmarks alone decided; "
        "by itself it becomes a canary at most"
    )
    return Finding("outcomes", passed=False, said=said)


def _none() -> Finding:
    return Finding("groups", passed=False, said="there is no labelled group to measure on")
