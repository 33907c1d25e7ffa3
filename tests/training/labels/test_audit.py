"""What hand-checked labels tell: what a rule is believed, and how often labels flip."""

import pytest

from training.labels.audit import CheckedLabel, FlipRates, LabelAudit, summarise_checks
from training.labels.rules import RULES


def list_checks(rule, correct, incorrect):
    return [CheckedLabel(rule, True)] * correct + [CheckedLabel(rule, False)] * incorrect


@pytest.mark.parametrize("rule", RULES)
def test_unaudited_rule_has_the_probability_of_the_table(rule):
    assert LabelAudit().estimate_probability(rule) == pytest.approx(RULES[rule].probability)


def test_audited_probability_follows_the_checks():
    audit = summarise_checks(list_checks("rejected", 10, 20))
    assert audit.estimate_probability("rejected") == pytest.approx((10 + 1.5) / 40)
    assert audit.estimate_probability("merged") == 0.9


def test_flip_rates_are_shares_of_each_truth():
    audit = summarise_checks(
        list_checks("merged", 90, 5)
        + list_checks("rejected", 10, 45)
        + list_checks("closed", 50, 50)
    )
    as_checked = {"merged": 95, "rejected": 55, "closed": 100}
    rates = audit.estimate_flip_rates(as_checked)
    assert rates.wrong_to_right == pytest.approx(5 / 50)
    assert rates.right_to_wrong == pytest.approx(10 / 100)


def test_flip_rates_are_weighed_by_all_patches():
    audit = summarise_checks(list_checks("merged", 40, 10) + list_checks("rejected", 10, 40))
    rates = audit.estimate_flip_rates({"merged": 900, "rejected": 100, "reverted": 7})
    assert rates.wrong_to_right == pytest.approx(180 / 260)
    assert rates.right_to_wrong == pytest.approx(20 / 740)
    assert audit.estimate_flip_rates({}) == FlipRates(0.0, 0.0)


@pytest.mark.parametrize(
    "few", [list_checks("merged", 60, 19), list_checks("reverted", 19, 60), []]
)
def test_few_checks_give_no_rate(few):
    assert summarise_checks(few).estimate_flip_rates({"merged": 100, "reverted": 100}) is None


def test_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="'merge' is no label rule; the rules are checked_right, "):
        summarise_checks([CheckedLabel("merge", True)])
