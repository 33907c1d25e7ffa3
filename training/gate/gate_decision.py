"""Decide whether a trained model may replace the champion (pure).

The run must be intact and free of leaks, and the model no worse than the champion. The test is
non-inferiority with a fixed margin: the 95 % interval of the difference lies above minus the margin, and the
difference is an improvement. A superiority test on the few new issues of a week would pass nobody, or noise.
Every set of groups must pass, so no correction for several sets is needed. Labels by maintainers and by
benchmarks are different sets.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Any

from app.learning.gate_rules import Rules
from model import typed_json
from model.evaluation.bootstrap import Estimate
from training.evaluation import significance
from training.gate.gate_facts import ChampionComparison, GateFinding, ProvenanceCheck, StepHealth

SCHEMA = "r4p.gate/1"
AT_THE_END = 10
"""Number of last steps to average. A single step may be an odd batch."""
PRIMARY = "reward"
"""The training reward, unreadable replies included. It has to improve on every set."""
GUARDED = (PRIMARY, "balanced_accuracy")
"""Metrics that may not fall by more than the margin. Balanced accuracy detects constant answers."""
_COSTLY = "false_accepts"
"""The false accept rate may not rise for certain. A margin test would need too many issues."""


class GateOutcome(StrEnum):
    """Whether a trained model passed the gate, and so may replace the champion."""

    PASSED = "passed"
    FAILED = "failed"
    TOO_FEW = "too few"
    """Too few issues to decide. The candidate waits and is not served."""


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The gate's decision whether a trained model may replace the champion, with every reason."""

    outcome: GateOutcome
    findings: tuple[GateFinding, ...]
    rules: Rules
    by_outcomes: bool = False
    """Maintainers' outcomes took part in the decision. Without them, no program promotes the candidate."""

    @property
    def why(self) -> str:
        """The failed checks of the gate in one line, or "passed every check"."""
        against = [finding for finding in self.findings if not finding.passed]
        return (
            "; ".join(f"{finding.check}: {finding.answer}" for finding in against)
            or "passed every check"
        )

    def document(self) -> dict[str, Any]:
        """Return the gate's decision as a JSON object, with every finding and rule."""
        return {"schema": SCHEMA, "why": self.why, **typed_json.dump(self)}


def decide_gate(
    provenance: ProvenanceCheck,
    objections: Sequence[str],
    compared: Sequence[ChampionComparison],
    rules: Rules,
) -> GateDecision:
    """Decide whether a trained model may replace the champion.

    `provenance` holds facts that the run recorded, and their values now. `objections` lists reasons why vLLM would
    refuse the adapter. `compared` holds one comparison for each set of groups; a set with too few issues decides
    nothing. The decision says so when only benchmarks decided.
    """
    sound = (*_check_integrity(provenance, rules), _check_loadable(objections))
    enough = [comparison for comparison in compared if comparison.issues >= rules.least_issues]
    few = [
        _report_too_few(comparison, rules) for comparison in compared if comparison not in enough
    ]
    measured = [finding for comparison in enough for finding in _check_no_worse(comparison, rules)]
    by_outcomes = any(comparison.by_outcomes for comparison in enough)
    notes = [] if by_outcomes else [_report_tests_only(rules)]
    findings = (
        (*sound, *measured, *few, *notes) if enough else (*sound, *(few or [_report_no_groups()]))
    )
    if not all(finding.passed for finding in (*sound, *measured)):
        return GateDecision(GateOutcome.FAILED, findings, rules, by_outcomes)
    return GateDecision(
        GateOutcome.PASSED if enough else GateOutcome.TOO_FEW, findings, rules, by_outcomes
    )


def build_refusal(error: str, rules: Rules) -> GateDecision:
    """Return the decision that a trained model fails the gate because it could not be measured; `error` says why."""
    return GateDecision(
        GateOutcome.FAILED, (GateFinding("measured", passed=False, answer=error),), rules
    )


def _check_integrity(provenance: ProvenanceCheck, rules: Rules) -> tuple[GateFinding, ...]:
    both = sorted(provenance.trained_on & provenance.measured_on)
    return (
        GateFinding("run", provenance.status == "finished", f"the run is {provenance.status}"),
        _check_same("adapter", provenance.adapter, provenance.adapter_now),
        _check_same("dataset", provenance.dataset, provenance.dataset_now),
        GateFinding(
            "labels",
            provenance.label_rule in {None, provenance.label_rule_now},
            _describe_rule(provenance),
        ),
        GateFinding("leak", not both, _describe_shared(both)),
        *check_steps(provenance.steps, rules, samples=provenance.samples),
    )


def _check_same(what: str, before: str, now: str) -> GateFinding:
    answer = (
        "equals the record of the run" if before == now else f"was {before[:12]}, is {now[:12]}"
    )
    return GateFinding(what, before == now, answer)


def _describe_rule(provenance: ProvenanceCheck) -> str:
    if provenance.label_rule is None:
        return "by tests"
    return f"by rule {provenance.label_rule}; today's is {provenance.label_rule_now}"


def _describe_shared(issues: Sequence[str]) -> str:
    if not issues:
        return "no issue was trained on and measured on"
    return f"{len(issues)} issues were trained on and measured on, such as {issues[0]}"


def _check_loadable(objections: Sequence[str]) -> GateFinding:
    return GateFinding("loadable", not objections, "; ".join(objections) or "a plain LoRA adapter")


def _check_no_worse(comparison: ChampionComparison, rules: Rules) -> list[GateFinding]:
    guarded = [_check_guarded(comparison, name, rules) for name in GUARDED]
    readable = comparison.candidate["format_valid"].value
    least = rules.least_format_valid
    answer = "no vote was asked" if readable is None else f"{readable:.1%} can be read"
    improves = (
        [_check_improvement(comparison, rules)]
        if rules.must_improve or rules.must_be_better
        else []
    )
    return [
        *guarded,
        *improves,
        _check_false_accepts(comparison, rules),
        GateFinding(
            f"{comparison.name}: replies",
            readable is not None and readable >= least,
            f"{answer}; {least:.0%} is the least; {comparison.unanswered} groups were left unanswered",
        ),
        GateFinding(
            f"{comparison.name}: issues decided rightly",
            comparison.p_worse >= rules.alpha,
            f"{comparison.only_candidate} by the candidate alone, {comparison.only_champion} by the champion alone, "
            f"one-sided {significance.format_p_value(comparison.p_worse)}",
        ),
    ]


def _check_guarded(comparison: ChampionComparison, name: str, rules: Rules) -> GateFinding:
    estimate = comparison.difference[name]
    # non-inferiority: the whole interval lies above minus the margin
    passed = estimate.low is not None and estimate.low >= -rules.margin
    answer = f"{_format_estimate(estimate)} on {comparison.issues} issues; may not fall below {-rules.margin:+.3f}"
    return GateFinding(f"{comparison.name}: {name} no worse", passed, answer)


def _check_improvement(comparison: ChampionComparison, rules: Rules) -> GateFinding:
    estimate = comparison.difference[PRIMARY]
    value = estimate.low if rules.must_be_better else estimate.value
    passed = value is not None and value > 0
    what = "lower end" if rules.must_be_better else "difference"
    return GateFinding(
        f"{comparison.name}: {PRIMARY} improves", passed, f"{what} of {_format_estimate(estimate)}"
    )


def _check_false_accepts(comparison: ChampionComparison, rules: Rules) -> GateFinding:
    estimate = comparison.difference[_COSTLY]
    passed = estimate.low is None or estimate.low <= rules.margin
    answer = (
        f"{_format_estimate(estimate)}; the whole interval may not lie above {rules.margin:+.3f}"
    )
    return GateFinding(f"{comparison.name}: {_COSTLY} not surely more", passed, answer)


def _format_estimate(estimate: Estimate) -> str:
    if estimate.value is None:
        return "unknown"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:+.3f}"
    return f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"


def _report_too_few(comparison: ChampionComparison, rules: Rules) -> GateFinding:
    answer = f"{comparison.issues}; {rules.least_issues} are needed to decide by it"
    return GateFinding(f"{comparison.name}: issues", passed=False, answer=answer)


def _report_tests_only(rules: Rules) -> GateFinding:
    answer = (
        f"no set that maintainers labelled has {rules.least_issues} issues, benchmarks alone decided; "
        "by itself it becomes a canary at most"
    )
    return GateFinding("outcomes", passed=False, answer=answer)


def _report_no_groups() -> GateFinding:
    return GateFinding("groups", passed=False, answer="there is no labelled group to measure on")


def check_steps(steps: Sequence[StepHealth], rules: Rules, *, samples: bool) -> list[GateFinding]:
    """Check a run's step metrics, and return one finding for each check.

    All metrics must be finite. Entropy and clipping of the last AT_THE_END steps must keep to `rules`.

    `samples` says that the run trained on its own replies, so every step must have entropy and clipping.
    """
    return [_check_numbers(steps, samples=samples), *_check_health(steps[-AT_THE_END:], rules)]


def _check_numbers(steps: Sequence[StepHealth], *, samples: bool) -> GateFinding:
    wrong = Counter(problem for step in steps for problem in _list_problems(step, samples=samples))
    problem = ", ".join(f"{what} in {times} of {len(steps)} steps" for what, times in wrong.items())
    passed = bool(steps) and not wrong
    return GateFinding("numbers", passed, problem or f"finite in {len(steps)} steps")


def _list_problems(step: StepHealth, *, samples: bool) -> Iterator[str]:
    for name in ("loss", "entropy", "clipped"):
        value = getattr(step, name)
        if name in step.not_finite or (value is not None and not math.isfinite(value)):
            yield f"{name} is not finite"
        elif value is None and samples:
            yield f"{name} is missing"


def _check_health(last: Sequence[StepHealth], rules: Rules) -> Iterator[GateFinding]:
    if values := [step.entropy for step in last if step.entropy is not None]:
        entropy = fmean(values)
        answer = f"{entropy:.4f} nats in the last {len(values)} steps; {rules.least_entropy} is the least"
        yield GateFinding("entropy", entropy >= rules.least_entropy, answer)
    if values := [step.clipped for step in last if step.clipped is not None]:
        clipped = fmean(values)
        answer = f"{clipped:.0%} of tokens in the last {len(values)} steps; {rules.most_clipped:.0%} is the most"
        yield GateFinding("clipping", clipped <= rules.most_clipped, answer)
