"""Regressions under many sets of weights, compared with those of scikit-learn."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from training.calibrators.regression import fit_curve, fit_logistic

RISING = np.asarray([True, True, False])


def draw_problem(sets, *, steep=1.0, seed=0):
    """Features of 200 kinds of evidence, and sets of weights for all and for correct patches of each kind."""
    draw = np.random.default_rng(seed)
    features = draw.normal(size=(200, 3)) * [1.0, 2.0, 0.1] + [0.0, 3.0, 1.0]
    merits = steep * (features @ [1.0, 0.5, 2.0] - 3.5)
    chances = 1 / (1 + np.exp(-np.clip(merits, -500, 500)))
    totals = draw.uniform(0.1, 2.0, size=(sets, 200)) * (draw.random((sets, 200)) < 0.9)
    return features, totals, totals * np.where(steep > 100, chances > 0.5, chances)


def fit_by_scikit(features, totals, positives):
    """Fit on standardised features, each kind as a correct and an incorrect patch."""
    middle = np.average(features, axis=0, weights=totals)
    spread = np.sqrt(np.average((features - middle) ** 2, axis=0, weights=totals))
    labels, weights = (
        np.repeat([1, 0], len(features)),
        np.concatenate([positives, totals - positives]),
    )
    model = LogisticRegression(max_iter=10_000, tol=1e-10).fit(
        np.tile((features - middle) / spread, (2, 1)), labels, weights
    )
    learnt = model.coef_[0] / spread
    return [*learnt, model.intercept_[0] - learnt @ middle]


@pytest.mark.parametrize("steep", [0.3, 1.0, 1_000.0], ids=["flat", "steep", "separable"])
def test_logistic_fit_equals_scikit_learn(steep):
    features, totals, positives = draw_problem(5, steep=steep)
    fitted = fit_logistic(features, totals, positives, RISING)
    for own, *sums in zip(fitted, totals, positives, strict=True):
        assert own == pytest.approx(fit_by_scikit(features, *sums), rel=1e-3, abs=1e-4)


def test_falling_and_constant_features_get_no_weight():
    features, totals, positives = draw_problem(4)
    features = np.column_stack([-features[:, 0], features[:, 1], np.full(200, 0.7)])
    fitted = fit_logistic(features, totals, positives, RISING)
    assert (fitted[:, [0, 2]] == 0).all()
    expected = fit_logistic(features[:, 1:2], totals, positives, RISING[:1])
    assert fitted[:, [1, 3]] == pytest.approx(expected, abs=1e-6)


def test_labels_of_one_side_give_their_share():
    features, totals, _ = draw_problem(2)
    fitted = fit_logistic(features, totals, np.stack([totals[0], 0 * totals[1]]), RISING)
    assert (fitted[:, :-1] == 0).all()
    sums = totals.sum(axis=1)
    shares = [(sums[0] + 1) / (sums[0] + 2), 1 / (sums[1] + 2)]
    assert 1 / (1 + np.exp(-fitted[:, -1])) == pytest.approx(shares)


def test_curve_equals_scikit_learn():
    draw = np.random.default_rng(1)
    logits, totals = draw.integers(0, 60, 200) / 10, draw.uniform(0, 2, 200)
    totals[::7] = 0.0
    positives = totals * (draw.random(200) < logits / 6)
    points, heights = fit_curve(logits, totals, positives)
    edge = 1 / (totals.sum() + 2)
    kept = totals > 0
    model = IsotonicRegression(y_min=edge, y_max=1 - edge).fit(
        logits[kept], positives[kept] / totals[kept], totals[kept]
    )
    assert heights == pytest.approx(model.predict(points))
    assert (np.diff(points) > 0).all()
