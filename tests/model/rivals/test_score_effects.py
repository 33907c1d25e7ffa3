"""What moves a consensus score is measured on the model itself, and told as a change of the score."""

import numpy as np
import pytest

from model.domain import Issue
from model.patches.edits import read_edit
from model.rivals import consensus_model
from model.rivals.features import list_columns, list_own_columns
from model.rivals.score_effects import FeatureKind, describe_effects, predict_with_effects
from tests.model.builders import build_diff

LIKENESS, SIZE, ISSUE = FeatureKind
COLUMNS = list_columns()


def predict_from(weights):
    """Return a model that adds columns by weight, and rows of two patches that differ by 1 in each column."""
    vector = np.array([weights.get(name, 0.0) for name in COLUMNS])
    return lambda rows: 0.5 + rows @ vector, np.array([[1.0] * len(COLUMNS), [0.0] * len(COLUMNS)])


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("rivals' text", LIKENESS),
        ("support", LIKENESS),
        ("agreed files lacking", LIKENESS),
        ("added lines", SIZE),
        ("characters beyond rivals", SIZE),
        ("nearest rival's size", SIZE),
        ("issue names it touches", ISSUE),
    ],
)
def test_a_column_moves_the_score_under_its_kind(column, kind):
    high, low = predict_with_effects(*predict_from({column: 0.2}))
    assert (high.probability, low.probability) == pytest.approx((0.7, 0.5))
    assert high.effects == pytest.approx(dict.fromkeys(FeatureKind, 0.0) | {kind: 0.1})
    assert low.effects == pytest.approx(dict.fromkeys(FeatureKind, 0.0) | {kind: -0.1})


def test_each_feature_of_the_patch_alone_is_a_feature():
    assert set(list_own_columns()) < set(COLUMNS)


def test_what_is_equal_in_the_whole_group_moves_nothing():
    predict, rows = predict_from(dict.fromkeys(COLUMNS, 0.001))
    for prediction in predict_with_effects(predict, np.vstack([rows[0], rows[0]])):
        assert prediction.effects == pytest.approx(dict.fromkeys(FeatureKind, 0.0))


def test_effects_of_the_shipped_model_leave_its_probabilities_as_they_are():
    fit = consensus_model.load_shipped().fits[consensus_model.EVERYTHING]
    issue = Issue("x is wrong", "x should be 1")
    edits = [read_edit(build_diff(text)) for text in ("x = 1", "x = 1 + 0", "while True: wait()")]
    features = consensus_model.compute_features(issue, edits)
    rows = consensus_model.build_matrix(features)
    predictions = fit.predict(issue, edits)
    assert [each.probability for each in predictions] == fit.few.predict_probability(rows).tolist()
    assert any(abs(effect) > 0.02 for each in predictions for effect in each.effects.values())


@pytest.mark.parametrize(
    ("effects", "parts"),
    [
        ((0.1, 0.0, 0.0), "+0.10 from its likeness to rivals"),
        (
            (0.03, -0.2, 0.0),
            "−0.20 from the size and shape of its edit and +0.03 from its likeness to rivals",
        ),
        (
            (0.04, 0.03, 0.05),
            f"+0.05 from {ISSUE}, +0.04 from {LIKENESS} and +0.03 from {SIZE}",
        ),
    ],
    ids=["one", "two", "three"],
)
def test_effects_are_told_with_the_largest_first(effects, parts):
    sentence = describe_effects(dict(zip(FeatureKind, effects, strict=True)))
    assert sentence == f"Compared with the mean of its group, its score gets {parts}."


def test_small_effects_are_not_told():
    assert describe_effects({LIKENESS: 0.019, SIZE: -0.019, ISSUE: 0.0}) == ""
