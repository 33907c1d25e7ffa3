"""Thresholds turn beliefs into verdicts."""

import math

import pytest

from model.domain import Verdict
from model.voting.thresholds import AGREEMENT, Thresholds


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
    assert AGREEMENT.decide(belief) is verdict


def test_a_side_without_a_bound_claims_nothing():
    assert Thresholds(None, None).decide(1.0) is Verdict.UNSURE
    assert Thresholds(0.5, None).decide(0.0) is Verdict.UNSURE
    assert Thresholds(None, 0.5).decide(0.5) is Verdict.INCORRECT


def test_bounds_that_meet_are_refused():
    with pytest.raises(ValueError, match=r"incorrect up to 0\.5 and correct from 0\.5 overlap"):
        Thresholds(0.5, 0.5)
