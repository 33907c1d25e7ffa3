"""Thresholds: what a belief amounts to, and bounds chosen so that claims are true often enough."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.domain import Verdict
from model.thresholds import AGREEMENT, Thresholds, on_precision

beliefs = st.sampled_from([n / 10 for n in range(11)])
histories = st.lists(st.tuples(beliefs, st.booleans()), max_size=60)


@pytest.mark.parametrize(
    ("belief", "verdict"),
    [
        (1.0, Verdict.CORRECT),
        (0.6, Verdict.CORRECT),
        (0.59, Verdict.UNSURE),
        (0.41, Verdict.UNSURE),
        (0.4, Verdict.INCORRECT),
        (0.0, Verdict.INCORRECT),
        (None, Verdict.UNSURE),
        (math.nan, Verdict.UNSURE),
    ],
)
def test_a_belief_becomes_a_verdict(belief, verdict):
    assert AGREEMENT.verdict(belief) is verdict


def test_a_side_without_a_bound_claims_nothing():
    assert Thresholds(None, None).verdict(1.0) is Verdict.UNSURE
    assert Thresholds(0.5, None).verdict(0.0) is Verdict.UNSURE
    assert Thresholds(None, 0.5).verdict(0.5) is Verdict.INCORRECT


def test_bounds_that_meet_are_refused():
    with pytest.raises(ValueError, match=r"incorrect up to 0\.5 and correct from 0\.5 overlap"):
        Thresholds(0.5, 0.5)


def test_bounds_reach_as_far_as_claims_stay_true():
    judged = [(0.1, False)] * 4 + [(0.3, True)] + [(0.5, False), (0.5, True)] + [(0.7, True)] * 3
    bounds = on_precision(judged, accept=0.8, reject=0.8, least=2)
    assert bounds == Thresholds(correct=0.5, incorrect=0.3)
    assert on_precision(judged, accept=0.9, reject=0.9, least=2) == Thresholds(0.7, 0.1)
    assert on_precision(judged, accept=0.9, reject=0.9, least=4) == Thresholds(None, 0.1)
    assert on_precision([], accept=0.5, reject=0.5) == Thresholds(None, None)


@given(histories, st.sampled_from([0.5, 0.7, 0.9, 1.0]), st.integers(1, 5))
def test_claims_are_as_precise_as_asked_for(judged, precision, least):
    bounds = on_precision(judged, accept=precision, reject=precision, least=least)
    for verdict, truth in ((Verdict.CORRECT, True), (Verdict.INCORRECT, False)):
        labels = [label is truth for belief, label in judged if bounds.verdict(belief) is verdict]
        assert not labels or len(labels) >= least
        assert sum(labels) >= precision * len(labels)
