from dataclasses import replace

import pytest

from app.learning.gate_rules import Rules
from model.evaluation.bootstrap import Estimate
from training.gate.gate_decision import GateOutcome, build_refusal, decide_gate
from training.gate.gate_facts import ChampionComparison, ProvenanceCheck, StepHealth

GOOD = ProvenanceCheck(
    status="finished",
    steps=(StepHealth(0.5, 1.2, 0.01), StepHealth(0.4, 1.0, 0.02)),
    adapter="a" * 64,
    adapter_now="a" * 64,
    dataset="d" * 64,
    dataset_now="d" * 64,
    label_rule=2,
    label_rule_now=2,
    trained_on=frozenset({"octo/cat#1"}),
    measured_on=frozenset({"octo/cat#2"}),
)
BETTER = Estimate(0.05, -0.01, 0.11)
EVEN = Estimate(0.0, -0.015, 0.015)


def build_differences(reward=BETTER, balanced_accuracy=EVEN, false_accepts=EVEN):
    names = ("reward", "balanced_accuracy", "false_accepts")
    return dict(zip(names, (reward, balanced_accuracy, false_accepts), strict=True))


READABLE = {"format_valid": Estimate(0.97, 0.95, 0.99)}


def build_comparison(**changes):
    plain = ChampionComparison(
        name="outcomes",
        issues=40,
        groups=50,
        patches=160,
        candidate=READABLE,
        champion=READABLE,
        difference=build_differences(),
        constants={},
        only_candidate=6,
        only_champion=4,
        p_worse=0.8,
        p_differs=0.7,
    )
    return replace(plain, **changes)


def decide(provenance=GOOD, objections=(), sets=None, rules=None):
    sets = [build_comparison()] if sets is None else sets
    return decide_gate(provenance, objections, sets, rules or Rules())


def list_failed_checks(gate):
    return [one.check for one in gate.findings if not one.passed]


def test_candidate_that_is_better_and_surely_no_worse_passes():
    gate = decide()
    assert (gate.outcome, gate.why) == (GateOutcome.PASSED, "passed every check")
    document = gate.document()
    assert document["schema"] == "r4p.gate/1"
    assert document["outcome"] == "passed"
    assert document["rules"]["margin"] == 0.02
    assert all(one["passed"] for one in document["findings"])


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"status": "failed"}, "run"),
        ({"adapter_now": "b" * 64}, "adapter"),
        ({"dataset_now": "e" * 64}, "dataset"),
        ({"label_rule": 1}, "labels"),
        ({"measured_on": frozenset({"octo/cat#1"})}, "leak"),
        ({"steps": (StepHealth(float("nan")),)}, "numbers"),
        ({"steps": (StepHealth(0.1, float("inf")), StepHealth(0.1, 1.0))}, "numbers"),
        ({"steps": ()}, "numbers"),
        ({"steps": (StepHealth(0.1, not_finite=("entropy",)),)}, "numbers"),
        ({"steps": (StepHealth(0.1, 1.0),), "samples": True}, "numbers"),
        ({"steps": (StepHealth(0.1, 0.0),)}, "entropy"),
        ({"steps": (StepHealth(0.1, 1.0, 0.9),)}, "clipping"),
    ],
)
def test_broken_or_leaked_run_fails(changes, check):
    gate = decide(replace(GOOD, **changes))
    assert (gate.outcome, list_failed_checks(gate)) == (GateOutcome.FAILED, [check])
    assert gate.why.startswith(f"{check}: ")


def find_words(check, *steps, samples=False):
    """What is found of a run with these steps, in words."""
    gate = decide(replace(GOOD, steps=steps, samples=samples))
    return next(one.answer for one in gate.findings if one.check == check)


def test_missing_and_infinite_metrics_are_counted_by_name():
    steps = (
        StepHealth(0.1, 1.0, 0.1),
        StepHealth(None, None, 0.1, ("entropy",)),
        StepHealth(0.1, 1.0, None),
    )
    assert find_words("numbers", *steps) == "entropy is not finite in 1 of 3 steps"
    assert find_words("numbers", *steps, samples=True) == (
        "loss is missing in 1 of 3 steps, entropy is not finite in 1 of 3 steps, clipped is missing in 1 of 3 steps"
    )


def test_entropy_and_clipping_are_of_the_last_ten_steps():
    lively, dead = StepHealth(0.1, 1.0, 0.1), StepHealth(0.1, 0.0, 0.9)
    one_odd_batch = (*[lively] * 9, dead)
    assert decide(replace(GOOD, steps=one_odd_batch)).outcome is GateOutcome.PASSED
    assert find_words("entropy", *one_odd_batch).startswith("0.9000 nats in the last 10 steps")
    assert find_words("clipping", *one_odd_batch).startswith("18% of tokens in the last 10 steps")
    assert list_failed_checks(decide(replace(GOOD, steps=(*[lively] * 30, *[dead] * 10)))) == [
        "entropy",
        "clipping",
    ]
    assert decide(replace(GOOD, steps=(*[dead] * 30, *[lively] * 10))).outcome is GateOutcome.PASSED


def test_labels_by_tests_need_no_rule():
    assert decide(replace(GOOD, label_rule=None)).outcome is GateOutcome.PASSED


def test_objection_or_failed_measurement_fails_with_the_reason():
    gate = decide(objections=("bias is all",))
    assert (gate.outcome, gate.why) == (GateOutcome.FAILED, "loadable: bias is all")
    gate = build_refusal("the engine is down", Rules())
    assert (gate.outcome, gate.why) == (GateOutcome.FAILED, "measured: the engine is down")


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        (
            {"difference": build_differences(reward=Estimate(0.01, -0.03, 0.05))},
            "outcomes: reward no worse",
        ),
        (
            {"difference": build_differences(balanced_accuracy=Estimate(-0.2, -0.3, -0.1))},
            "outcomes: balanced_accuracy no worse",
        ),
        (
            {"difference": build_differences(balanced_accuracy=Estimate(None, None, None))},
            "outcomes: balanced_accuracy no worse",
        ),
        (
            {"difference": build_differences(reward=Estimate(0.1, None, None))},
            "outcomes: reward no worse",
        ),
        ({"difference": build_differences(reward=EVEN)}, "outcomes: reward improves"),
        ({"candidate": {"format_valid": Estimate(0.5, 0.4, 0.6)}}, "outcomes: replies"),
        ({"candidate": {"format_valid": Estimate(None, None, None)}}, "outcomes: replies"),
        (
            {"only_candidate": 0, "only_champion": 9, "p_worse": 0.002},
            "outcomes: issues decided rightly",
        ),
    ],
)
def test_candidate_that_may_be_worse_fails(changes, check):
    gate = decide(sets=[build_comparison(**changes)])
    assert (gate.outcome, list_failed_checks(gate)) == (GateOutcome.FAILED, [check])


def test_false_accepts_fail_only_when_surely_more():
    sure = build_comparison(difference=build_differences(false_accepts=Estimate(0.2, 0.05, 0.4)))
    assert list_failed_checks(decide(sets=[sure])) == ["outcomes: false_accepts not surely more"]
    maybe = build_comparison(difference=build_differences(false_accepts=Estimate(0.1, -0.05, 0.3)))
    assert decide(sets=[maybe]).outcome is GateOutcome.PASSED
    unknown = build_comparison(
        difference=build_differences(false_accepts=Estimate(None, None, None))
    )
    assert decide(sets=[unknown]).outcome is GateOutcome.PASSED


def test_superiority_is_required_by_the_rules():
    gate = decide(rules=Rules(must_be_better=True))
    assert list_failed_checks(gate) == ["outcomes: reward improves"]
    sure = build_comparison(difference=build_differences(reward=Estimate(0.05, 0.01, 0.1)))
    assert decide(sets=[sure], rules=Rules(must_be_better=True)).outcome is GateOutcome.PASSED
    even = build_comparison(difference=build_differences(reward=EVEN))
    assert decide(sets=[even], rules=Rules(must_improve=False)).outcome is GateOutcome.PASSED


def test_every_set_with_enough_issues_must_pass():
    worse = build_comparison(
        name="benchmark",
        difference=build_differences(reward=Estimate(-0.1, -0.2, 0.0)),
    )
    assert decide(sets=[build_comparison(), worse]).outcome is GateOutcome.FAILED
    small = replace(worse, issues=29)
    gate = decide(sets=[build_comparison(), small])
    assert (gate.outcome, list_failed_checks(gate)) == (GateOutcome.PASSED, ["benchmark: issues"])
    assert gate.why == "benchmark: issues: 29; 30 are needed to decide by it"


def test_too_few_issues_decide_nothing():
    gate = decide(sets=[build_comparison(issues=29)])
    assert (gate.outcome, list_failed_checks(gate)) == (GateOutcome.TOO_FEW, ["outcomes: issues"])
    none = decide(sets=[])
    assert (none.outcome, none.why) == (
        GateOutcome.TOO_FEW,
        "groups: there is no labelled group to measure on",
    )
    broken = decide(replace(GOOD, status="failed"), sets=[])
    assert broken.outcome is GateOutcome.FAILED


@pytest.mark.parametrize("name", ["outcomes", "outcomes, repositories"])
def test_outcome_sets_decide_by_outcomes(name):
    assert decide(sets=[build_comparison(name=name)]).by_outcomes


def test_gate_decided_by_benchmarks_allows_a_canary_at_most():
    sets = [build_comparison(name="benchmark"), build_comparison(issues=29)]
    gate = decide(sets=sets)
    assert (gate.outcome, gate.by_outcomes) == (GateOutcome.PASSED, False)
    assert list_failed_checks(gate) == ["outcomes: issues", "outcomes"]
    assert "a canary at most" in gate.why
    assert gate.document()["by_outcomes"] is False


def test_unanswered_groups_are_reported():
    findings = decide(sets=[build_comparison(unanswered=3)]).findings
    (said,) = [one.answer for one in findings if one.check == "outcomes: replies"]
    assert said.endswith("3 groups were left unanswered")
