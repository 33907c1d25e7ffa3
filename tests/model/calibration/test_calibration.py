"""Calibrators keep the order of the evidence and give no probability without enough history."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.calibration.calibration import (
    NO_HISTORY,
    NO_OPINION,
    CalibrationMethod,
    Calibrator,
    Evidence,
    History,
    build_features,
    from_json,
    sigmoid,
    to_json,
)
from model.voting.thresholds import Thresholds

ENOUGH = History(issues=30, correct=20, incorrect=20)
PLATT = Calibrator(
    "2026-01-01T00:00:00+00:00",
    ENOUGH,
    weights={"votes": 1.0, "consensus": 0.5},
    intercept=-0.2,
    thresholds=Thresholds(0.8, 0.3),
)
CURVE = ((-1.0, 0.1), (0.0, 0.4), (2.0, 0.9))
ISOTONIC = replace(
    PLATT, kind=CalibrationMethod.ISOTONIC, curve=CURVE, weights={"votes": 1.0}, intercept=0.0
)


def test_platt_is_the_logistic_of_the_weighted_evidence():
    evidence = Evidence(score=0.75, valid=4, consensus=0.6)
    votes, consensus = math.log(3.5 / 1.5), math.log(0.6 / 0.4)
    logit = -0.2 + votes + 0.5 * consensus
    assert PLATT.predict_probability(evidence) == pytest.approx(1 / (1 + math.exp(-logit)))


@pytest.mark.parametrize(
    ("logit", "probability"),
    [(-5, 0.1), (-1, 0.1), (-0.5, 0.25), (0, 0.4), (1, 0.65), (2, 0.9), (9, 0.9)],
)
def test_isotonic_follows_its_curve(logit, probability):
    # one vote of share s weighs as log((s + .5) / (1.5 - s)); the intercept brings it to the place wanted
    calibrator = replace(ISOTONIC, weights={}, intercept=logit)
    assert calibrator.predict_probability(Evidence(score=0.5)) == pytest.approx(probability)


@pytest.mark.parametrize(
    "history", [History(29, 20, 20), History(30, 19, 20), History(30, 20, 19), History(0, 0, 0)]
)
def test_short_history_gives_no_probability(history):
    young = replace(PLATT, history=history)
    sure = Evidence(score=1.0, valid=4)
    assert young.predict_probability(sure) is None
    assert young.explain_silence(sure) == NO_HISTORY


def test_missing_evidence_gives_no_probability():
    assert PLATT.predict_probability(Evidence()) is None
    assert PLATT.explain_silence(Evidence()) == NO_OPINION
    assert PLATT.explain_silence(Evidence(consensus=0.5)) is None


def test_missing_feature_weighs_nothing():
    neither = build_features(Evidence(consensus=0.5))
    assert neither == {"votes": 0.0, "valid": 0.0, "forced": 0.0, "consensus": 0.0}
    shares = build_features(Evidence(score=0.5, valid=2, valid_share=0.5, forced_share=1.0))
    assert (shares["valid"], shares["forced"]) == (0.5, 1.0)


def test_more_votes_shrink_the_share_less():
    few, many = (build_features(Evidence(score=1.0, valid=votes))["votes"] for votes in (1, 9))
    assert 0 < few < many


def test_belief_without_votes_is_not_shrunk():
    sure = build_features(Evidence(score=0.98, valid=0))["votes"]
    assert sure == pytest.approx(math.log(0.98 / 0.02))
    assert sure > build_features(Evidence(score=1.0, valid=1))["votes"]
    assert build_features(Evidence(score=1.0))["votes"] == pytest.approx(math.log(0.99 / 0.01))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": "r4p.calibrator/0"}, "schema is 'r4p.calibrator/0', not 'r4p.calibrator/1'"),
        ({"rules": 0}, "rules is 0, not 2"),
        ({"history": {"issues": 1}}, "no calibrator: .*missing"),
        ({"history": None}, "no calibrator"),
        ({"weights": None}, "no calibrator"),
        ({"kind": "magic"}, "not a valid CalibrationMethod"),
        ({"weights": {"author": 1.0}}, "unknown feature 'author'; known are votes"),
        ({"weights": {"votes": -1.0}}, "weight of votes is negative"),
        ({"kind": "isotonic", "curve": []}, "needs a curve"),
        ({"curve": [[0, 0.5], [1, 0.4]]}, "must rise"),
        ({"curve": [[0, 0.5], [0, 0.6]]}, "must rise"),
        ({"curve": [[0, 1.5]]}, "leaves 0…1"),
        ({"thresholds": {"correct": 0.2, "incorrect": 0.6}}, "overlap"),
    ],
)
def test_invalid_calibrator_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        from_json(json.loads(json.dumps(to_json(PLATT) | changes)))


def test_incomplete_document_is_refused():
    whole = to_json(PLATT)
    with pytest.raises(ValueError, match="no calibrator: 'kind'"):
        from_json({name: value for name, value in whole.items() if name != "kind"})


def test_sigmoid_does_not_overflow():
    assert (sigmoid(-1e9), sigmoid(0.0), sigmoid(1e9)) == (0.0, 0.5, 1.0)


shares = st.floats(0, 1)
weights = st.floats(0, 20)
points = st.lists(
    st.tuples(st.floats(-20, 20), shares), min_size=1, max_size=8, unique_by=lambda point: point[0]
)


@st.composite
def draw_calibrator(draw):
    logits, heights = zip(*draw(points), strict=True)
    return Calibrator(
        "",
        ENOUGH,
        kind=draw(st.sampled_from(CalibrationMethod)),
        weights={
            "votes": draw(weights),
            "consensus": draw(weights),
            "forced": draw(st.floats(-20, 20)),
        },
        intercept=draw(st.floats(-20, 20)),
        curve=tuple(zip(sorted(logits), sorted(heights), strict=True)),
    )


evidences = st.builds(
    Evidence,
    score=shares,
    valid=st.integers(0, 9),
    valid_share=st.none() | shares,
    forced_share=st.none() | shares,
    consensus=shares,
)


@given(draw_calibrator(), evidences, shares, shares)
def test_more_evidence_for_a_patch_never_lowers_its_probability(
    calibrator, evidence, score, consensus
):
    more = replace(
        evidence, score=max(evidence.score, score), consensus=max(evidence.consensus, consensus)
    )
    low, high = calibrator.predict_probability(evidence), calibrator.predict_probability(more)
    assert 0 <= low <= high + 1e-12
    assert high <= 1


@given(draw_calibrator(), evidences)
def test_any_calibrator_survives_json(calibrator, evidence):
    calibrator = replace(calibrator, thresholds=Thresholds(0.8, 0.3))
    again = from_json(json.loads(json.dumps(to_json(calibrator))))
    assert again == calibrator
    assert again.predict_probability(evidence) == calibrator.predict_probability(evidence)
