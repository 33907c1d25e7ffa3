import pytest

from training.labels.weight_caps import WeightCaps, cap_weights

CAPS = WeightCaps(actor=4, repository=6)


@pytest.mark.parametrize(
    ("labels", "weights"),
    [
        ([(1.0, "ada", 1), (0.5, "bob", 1)], (1.0, 0.5)),
        ([(1.0, "ada", 1)] * 8, (0.5,) * 8),
        ([(1.0, "ada", 1)] * 4 + [(1.0, "ada", 2)] * 4, (1.0,) * 8),
        ([(1.0, None, 1)] * 12, (0.5,) * 12),
        ([(1.0, "ada", 1)] * 8 + [(1.0, "bob", 1)] * 4, (0.375,) * 8 + (0.75,) * 4),
        ([(0.0, None, 1)], (0.0,)),
        ([], ()),
    ],
    ids=["below", "a person", "elsewhere", "a repository", "both", "unknown", "none"],
)
def test_weights_are_capped(labels, weights):
    assert cap_weights(labels, CAPS) == pytest.approx(weights)
