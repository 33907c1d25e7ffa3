"""How sure a label is, since when, and what it counts."""

from dataclasses import replace

import pytest

from model.domain import Verdict
from tests.builders.history.pull_outcomes import (
    CLOSED,
    DAY,
    FAILED,
    LATER,
    MERGED,
    REVERTED,
    START,
    build_judgement,
    build_record,
    build_survival,
)
from training.labels import labels
from training.labels.rules import HOLD_PERIOD


def label(*fates, now=LATER, rivals=(), **about):
    return labels.label_patch(build_record(*fates, **about), "p", now, rivals)


PASSED_RIVAL = build_record(replace(FAILED, reason="success"), pull=13)


@pytest.mark.parametrize(
    ("share", "probability"), [(1.0, 0.98), (0.5, 0.79), (0.25, 0.695), (0.1, 0.638)]
)
def test_probability_grows_with_surviving_lines(share, probability):
    assert label(MERGED, build_survival(share)).probability == pytest.approx(probability)


def test_last_survival_count_decides():
    counts = [build_survival(0.9), build_survival(0.2, days=91, reason="after_90_days")]
    assert label(MERGED, *counts).rule_name == "rewritten"
    assert label(MERGED, *counts).outcome_at == START + 91 * DAY
    assert label(MERGED, *counts, now=START + 60 * DAY).rule_name == "survived"


def test_label_is_known_after_its_hold_period():
    assert label(MERGED).outcome_at == MERGED.occurred_at + HOLD_PERIOD
    assert label(MERGED, REVERTED).outcome_at == REVERTED.occurred_at
    assert label(MERGED, REVERTED, now=START + 20 * DAY).rule_name == "merged"
    rivals = [PASSED_RIVAL]
    assert label(FAILED, CLOSED, rivals=rivals).outcome_at == CLOSED.occurred_at + HOLD_PERIOD


def test_recent_merge_says_when_it_settles():
    labelled = label(MERGED, now=START + 3 * DAY)
    assert (labelled.outcome_at, labelled.settles_at) == (None, MERGED.occurred_at + HOLD_PERIOD)
    assert label(MERGED).settles_at is None


def test_decision_after_our_verdict_counts_half():
    assert (label(MERGED).is_echo, label(MERGED).weight) == (True, labels.ECHO_WEIGHT)
    against = [build_judgement(verdict=Verdict.INCORRECT)]
    assert label(MERGED, judgements=against).is_echo


@pytest.mark.parametrize(
    ("fates", "about"),
    [
        ([replace(MERGED, evaluation=None)], {}),
        ([MERGED], {"judgements": [build_judgement(verdict=Verdict.UNSURE)]}),
        ([MERGED], {"judgements": [build_judgement(2)]}),
        ([FAILED, CLOSED], {"rivals": [PASSED_RIVAL]}),
    ],
    ids=["nobody could read one", "it claimed nothing", "about another patch", "a CI reads none"],
)
def test_decision_without_a_readable_claim_counts_whole(fates, about):
    labelled = label(*fates, **about)
    assert (labelled.is_echo, labelled.weight) == (False, 1.0)
