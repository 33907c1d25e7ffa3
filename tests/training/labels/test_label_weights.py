"""How sure a label is, since when, and what it counts."""

from dataclasses import replace

import pytest

from model.domain import Verdict
from tests.builders.pull_outcomes import (
    CLOSED,
    DAY,
    FAILED,
    LATER,
    MERGED,
    REVERTED,
    START,
    judgement,
    record,
    survived,
)
from training.labels import labels
from training.labels.rules import HOLD_PERIOD


def told(*fates, now=LATER, rivals=(), **about):
    return labels.label_patch(record(*fates, **about), "p", now, rivals)


PASSED_RIVAL = record(replace(FAILED, reason="success"), pull=13)


@pytest.mark.parametrize(
    ("share", "probability"), [(1.0, 0.98), (0.5, 0.79), (0.25, 0.695), (0.1, 0.638)]
)
def test_the_more_lines_survive_the_more_is_believed(share, probability):
    assert told(MERGED, survived(share)).probability == pytest.approx(probability)


def test_the_last_count_of_lines_holds():
    counts = [survived(0.9), survived(0.2, days=91, reason="after_90_days")]
    assert told(MERGED, *counts).rule_name == "rewritten"
    assert told(MERGED, *counts).outcome_at == START + 91 * DAY
    assert told(MERGED, *counts, now=START + 60 * DAY).rule_name == "survived"


def test_a_label_is_known_when_its_window_has_passed():
    assert told(MERGED).outcome_at == MERGED.occurred_at + HOLD_PERIOD
    assert told(MERGED, REVERTED).outcome_at == REVERTED.occurred_at
    assert told(MERGED, REVERTED, now=START + 20 * DAY).rule_name == "merged"
    rivals = [PASSED_RIVAL]
    assert told(FAILED, CLOSED, rivals=rivals).outcome_at == CLOSED.occurred_at + HOLD_PERIOD


def test_what_happened_lately_says_until_when_it_waits():
    found = told(MERGED, now=START + 3 * DAY)
    assert (found.outcome_at, found.settles_at) == (None, MERGED.occurred_at + HOLD_PERIOD)
    assert told(MERGED).settles_at is None


def test_a_decision_that_could_read_our_claim_counts_less_whatever_it_says():
    assert (told(MERGED).is_echo, told(MERGED).weight) == (True, labels.ECHO_WEIGHT)
    against = [judgement(verdict=Verdict.INCORRECT)]
    assert told(MERGED, judgements=against).is_echo


@pytest.mark.parametrize(
    ("fates", "about"),
    [
        ([replace(MERGED, evaluation=None)], {}),
        ([MERGED], {"judgements": [judgement(verdict=Verdict.UNSURE)]}),
        ([MERGED], {"judgements": [judgement(2)]}),
        ([FAILED, CLOSED], {"rivals": [PASSED_RIVAL]}),
    ],
    ids=["nobody could read one", "it claimed nothing", "about another patch", "a CI reads none"],
)
def test_what_no_claim_could_lead_counts_whole(fates, about):
    found = told(*fates, **about)
    assert (found.is_echo, found.weight) == (False, 1.0)
