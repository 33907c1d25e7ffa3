from dataclasses import asdict

import pytest

from app.learning.gate_rules import Rules, add_earlier_decisions, find_weaker_rules, list_decisions

IN_FORCE = Rules()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"margin": 0.0},
        {"least_issues": 152},
        {"least_format_valid": 1},
        {"most_unanswered": 0},
        {"least_entropy": 0.01},
        {"most_clipped": 0.2},
        {"must_be_better": True},
        {"alpha": 0.5},
    ],
)
def test_rules_that_ask_as_much_or_more_are_not_laxer(changes):
    assert find_weaker_rules(asdict(IN_FORCE) | changes, IN_FORCE) == ()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"margin": 1}, "margin 1 instead of 0.02"),
        ({"least_issues": 2}, "least_issues 2 instead of 30"),
        ({"least_format_valid": 0.1}, "least_format_valid 0.1 instead of 0.9"),
        ({"most_unanswered": 0.9}, "most_unanswered 0.9 instead of 0.1"),
        ({"least_entropy": 0.0}, "least_entropy 0.0 instead of 0.001"),
        ({"most_clipped": 1.0}, "most_clipped 1.0 instead of 0.5"),
        ({"must_improve": False}, "must_improve False instead of True"),
        ({"alpha": 0.01}, "alpha 0.01 instead of 0.05"),
        ({"alpha": "0.05"}, "alpha 0.05 instead of 0.05"),
        ({"margin": None}, "margin None instead of 0.02"),
    ],
)
def test_a_rule_that_asks_less_or_is_no_number_is_named(changes, name):
    assert find_weaker_rules(asdict(IN_FORCE) | changes, IN_FORCE) == (name,)


def test_default_rules_are_weaker_than_stricter_ones():
    assert find_weaker_rules(asdict(Rules()), Rules(must_be_better=True, least_issues=60)) == (
        "least_issues 30 instead of 60",
        "must_be_better False instead of True",
    )


@pytest.mark.parametrize("rules", [None, [], "margin", {}])
def test_a_decision_without_rules_asked_nothing(rules):
    assert len(find_weaker_rules(rules, IN_FORCE)) == len(asdict(IN_FORCE))


def build_decision(outcome, earlier=(), **more):
    return {"outcome": outcome, "why": "", "by_outcomes": False, "rules": {}, "measured": {}} | (
        {"earlier": [*earlier], "findings": []} | more if earlier is not None else more
    )


def test_a_gate_tells_of_every_decision_its_own_last():
    first, second = (build_decision(outcome, None) for outcome in ("failed", "too few"))
    assert list_decisions(build_decision("passed", [first, second])) == [
        first,
        second,
        build_decision("passed", None),
    ]
    assert [one["outcome"] for one in list_decisions({"outcome": "passed"})] == ["passed"]


def test_decisions_that_a_file_forgot_are_kept_before_its_own():
    failed, again = (build_decision(one, None) for one in ("failed", "too few"))
    kept = build_decision("too few", [failed])
    for told in ([], [again], [failed, again]):
        found = add_earlier_decisions(build_decision("passed", told), kept)
        assert found["earlier"] == [failed, again]
        assert (found["outcome"], found["findings"]) == ("passed", [])
    assert add_earlier_decisions(kept, kept)["earlier"] == [failed]
