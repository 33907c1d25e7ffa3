"""What hand-checked labels tell: what a rule is believed, and how often labels flip."""

import pytest

from training.labels.audit import CheckedLabel, FlipRates, LabelAudit, summarise_checks
from training.labels.rules import RULES


def checked(rule, correct, incorrect):
    return [CheckedLabel(rule, True)] * correct + [CheckedLabel(rule, False)] * incorrect


@pytest.mark.parametrize("rule", RULES)
def test_unaudited_rules_are_believed_as_the_table_says(rule):
    assert LabelAudit().estimate_probability(rule) == pytest.approx(RULES[rule].probability)


def test_beliefs_follow_what_was_found():
    found = summarise_checks(checked("rejected", 10, 20))
    assert found.estimate_probability("rejected") == pytest.approx((10 + 1.5) / 40)
    assert found.estimate_probability("merged") == 0.9


def test_flip_rates_are_shares_of_each_truth():
    found = summarise_checks(
        checked("merged", 90, 5) + checked("rejected", 10, 45) + checked("closed", 50, 50)
    )
    as_checked = {"merged": 95, "rejected": 55, "closed": 100}
    rates = found.estimate_flip_rates(as_checked)
    assert rates.wrong_to_right == pytest.approx(5 / 50)
    assert rates.right_to_wrong == pytest.approx(10 / 100)


def test_flip_rates_are_of_all_patches_not_of_a_sample_that_took_rules_evenly():
    found = summarise_checks(checked("merged", 40, 10) + checked("rejected", 10, 40))
    rates = found.estimate_flip_rates({"merged": 900, "rejected": 100, "reverted": 7})
    assert rates.wrong_to_right == pytest.approx(180 / 260)
    assert rates.right_to_wrong == pytest.approx(20 / 740)
    assert found.estimate_flip_rates({}) == FlipRates(0.0, 0.0)


@pytest.mark.parametrize("few", [checked("merged", 60, 19), checked("reverted", 19, 60), []])
def test_few_checked_patches_tell_no_rate(few):
    assert summarise_checks(few).estimate_flip_rates({"merged": 100, "reverted": 100}) is None


def test_a_rule_that_is_none_is_refused():
    with pytest.raises(ValueError, match="'merge' is no label rule; the rules are checked_right, "):
        summarise_checks([CheckedLabel("merge", True)])
