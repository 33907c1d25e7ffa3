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


def differing(reward=BETTER, balanced_accuracy=EVEN, false_accepts=EVEN):
    return {
        "reward": reward,
        "balanced_accuracy": balanced_accuracy,
        "false_accepts": false_accepts,
    }


READABLE = {"format_valid": Estimate(0.97, 0.95, 0.99)}


def compared(**changes):
    plain = ChampionComparison(
        name="outcomes",
        issues=40,
        groups=50,
        patches=160,
        candidate=READABLE,
        champion=READABLE,
        difference=differing(),
        constants={},
        only_candidate=6,
        only_champion=4,
        p_worse=0.8,
        p_differs=0.7,
    )
    return replace(plain, **changes)


def decided(provenance=GOOD, objections=(), sets=None, rules=None):
    sets = [compared()] if sets is None else sets
    return decide_gate(provenance, objections, sets, rules or Rules())


def against(gate):
    return [one.check for one in gate.findings if not one.passed]


def test_a_candidate_that_is_better_and_surely_no_worse_passes():
    gate = decided()
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
def test_what_is_broken_or_leaked_fails_however_good_it_looks(changes, check):
    gate = decided(replace(GOOD, **changes))
    assert (gate.outcome, against(gate)) == (GateOutcome.FAILED, [check])
    assert gate.why.startswith(f"{check}: ")


def said_of(check, *steps, samples=False):
    """What is found of a run with these steps, in words."""
    gate = decided(replace(GOOD, steps=steps, samples=samples))
    return next(one.said for one in gate.findings if one.check == check)


def test_what_was_not_finite_or_not_there_is_counted_by_name():
    steps = (
        StepHealth(0.1, 1.0, 0.1),
        StepHealth(None, None, 0.1, ("entropy",)),
        StepHealth(0.1, 1.0, None),
    )
    assert said_of("numbers", *steps) == "entropy is not finite in 1 of 3 steps"
    assert said_of("numbers", *steps, samples=True) == (
        "loss is missing in 1 of 3 steps, entropy is not finite in 1 of 3 steps, clipped is missing in 1 of 3 steps"
    )


def test_the_end_of_a_run_is_its_last_ten_steps():
    lively, dead = StepHealth(0.1, 1.0, 0.1), StepHealth(0.1, 0.0, 0.9)
    one_odd_batch = (*[lively] * 9, dead)
    assert decided(replace(GOOD, steps=one_odd_batch)).outcome is GateOutcome.PASSED
    assert said_of("entropy", *one_odd_batch).startswith("0.9000 nats in the last 10 steps")
    assert said_of("clipping", *one_odd_batch).startswith("18% of tokens in the last 10 steps")
    assert against(decided(replace(GOOD, steps=(*[lively] * 30, *[dead] * 10)))) == [
        "entropy",
        "clipping",
    ]
    assert (
        decided(replace(GOOD, steps=(*[dead] * 30, *[lively] * 10))).outcome is GateOutcome.PASSED
    )


def test_labels_by_tests_have_no_rule_to_be_of():
    assert decided(replace(GOOD, label_rule=None)).outcome is GateOutcome.PASSED


def test_an_adapter_that_vllm_would_refuse_fails():
    gate = decided(objections=("bias is all",))
    assert (gate.outcome, gate.why) == (GateOutcome.FAILED, "loadable: bias is all")


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        (
            {"difference": differing(reward=Estimate(0.01, -0.03, 0.05))},
            "outcomes: reward no worse",
        ),
        (
            {"difference": differing(balanced_accuracy=Estimate(-0.2, -0.3, -0.1))},
            "outcomes: balanced_accuracy no worse",
        ),
        (
            {"difference": differing(balanced_accuracy=Estimate(None, None, None))},
            "outcomes: balanced_accuracy no worse",
        ),
        (
            {"difference": differing(reward=Estimate(0.1, None, None))},
            "outcomes: reward no worse",
        ),
        ({"difference": differing(reward=EVEN)}, "outcomes: reward improves"),
        ({"candidate": {"format_valid": Estimate(0.5, 0.4, 0.6)}}, "outcomes: replies"),
        ({"candidate": {"format_valid": Estimate(None, None, None)}}, "outcomes: replies"),
        (
            {"only_candidate": 0, "only_champion": 9, "p_worse": 0.002},
            "outcomes: issues decided rightly",
        ),
    ],
)
def test_a_candidate_that_may_be_worse_fails(changes, check):
    gate = decided(sets=[compared(**changes)])
    assert (gate.outcome, against(gate)) == (GateOutcome.FAILED, [check])


def test_more_false_accepts_fail_where_that_is_sure_and_not_where_it_may_be():
    sure = compared(difference=differing(false_accepts=Estimate(0.2, 0.05, 0.4)))
    assert against(decided(sets=[sure])) == ["outcomes: false_accepts not surely more"]
    maybe = compared(difference=differing(false_accepts=Estimate(0.1, -0.05, 0.3)))
    assert decided(sets=[maybe]).outcome is GateOutcome.PASSED
    unknown = compared(difference=differing(false_accepts=Estimate(None, None, None)))
    assert decided(sets=[unknown]).outcome is GateOutcome.PASSED


def test_superiority_is_asked_for_where_it_is_wanted():
    gate = decided(rules=Rules(must_be_better=True))
    assert against(gate) == ["outcomes: reward improves"]
    sure = compared(difference=differing(reward=Estimate(0.05, 0.01, 0.1)))
    assert decided(sets=[sure], rules=Rules(must_be_better=True)).outcome is GateOutcome.PASSED
    even = compared(difference=differing(reward=EVEN))
    assert decided(sets=[even], rules=Rules(must_improve=False)).outcome is GateOutcome.PASSED


def test_every_set_with_enough_issues_has_to_pass():
    worse = compared(
        name="benchmark",
        difference=differing(reward=Estimate(-0.1, -0.2, 0.0)),
    )
    assert decided(sets=[compared(), worse]).outcome is GateOutcome.FAILED
    small = replace(worse, issues=29)
    gate = decided(sets=[compared(), small])
    assert (gate.outcome, against(gate)) == (GateOutcome.PASSED, ["benchmark: issues"])
    assert gate.why == "benchmark: issues: 29; 30 are needed to decide by it"


def test_too_few_issues_decide_nothing():
    gate = decided(sets=[compared(issues=29)])
    assert (gate.outcome, against(gate)) == (GateOutcome.TOO_FEW, ["outcomes: issues"])
    none = decided(sets=[])
    assert (none.outcome, none.why) == (
        GateOutcome.TOO_FEW,
        "groups: there is no labelled group to measure on",
    )
    broken = decided(replace(GOOD, status="failed"), sets=[])
    assert broken.outcome is GateOutcome.FAILED


def test_what_could_not_be_measured_fails_with_the_reason():
    gate = build_refusal("the engine is down", Rules())
    assert (gate.outcome, gate.why) == (GateOutcome.FAILED, "measured: the engine is down")


@pytest.mark.parametrize("name", ["outcomes", "outcomes, repositories"])
def test_what_maintainers_did_is_told_as_what_decided(name):
    assert decided(sets=[compared(name=name)]).by_outcomes


def test_where_benchmarks_alone_decided_that_is_told():
    sets = [compared(name="benchmark"), compared(issues=29)]
    gate = decided(sets=sets)
    assert (gate.outcome, gate.by_outcomes) == (GateOutcome.PASSED, False)
    assert against(gate) == ["outcomes: issues", "outcomes"]
    assert "a canary at most" in gate.why
    assert gate.document()["by_outcomes"] is False


def test_groups_that_were_left_unanswered_are_told():
    (said,) = (one.said for one in decided(sets=[compared(unanswered=3)]).findings
               if one.check == "outcomes: replies")  # fmt: skip
    assert said.endswith("3 groups were left unanswered")
