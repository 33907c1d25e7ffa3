"""Losses against numbers worked out by hand."""

from math import log

import pytest

from training.objective.policy_loss import average_loss, compute_token_loss
from training.plans.plan import LossAggregation, PolicySettings

LOSSES = [[1.0, 3.0, 50.0], [2.0, 70.0, 90.0], [5.0, 5.0, 5.0], [8.0, 8.0, 8.0]]
KEPT = [[True, True, False], [True, False, False], [True] * 3, [False] * 3]


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss"),
    [
        (1, 2, -2),
        (1.2, 1, -1.2),
        (1.5, 1, -1.28),
        (0.5, 1, -0.5),
        (0.9, -1, 0.9),
        (0.5, -1, 0.8),
        (1.5, -1, 1.5),
        (40, -1, 10),
        (40, 1, -1.28),
        (40, 0, 0),
    ],
)
def test_a_token_by_hand(ratio, advantage, loss):
    assert compute_token_loss(log(ratio), advantage, PolicySettings()) == pytest.approx(
        loss, abs=1e-12
    )


def test_without_a_ceiling_a_bad_reply_costs_what_it_costs():
    assert compute_token_loss(log(40), -1, PolicySettings(ratio_ceiling=None)) == pytest.approx(
        40, abs=1e-12
    )


@pytest.mark.parametrize(
    ("how", "loss"),
    [
        (LossAggregation.TOKEN_MEAN, (4 + 2 + 15) / 6),
        (LossAggregation.SEQUENCE_MEAN, (2 + 2 + 5 + 0) / 4),
        (LossAggregation.CONSTANT_LENGTH, (4 + 2 + 15) / (4 * 3)),
    ],
)
def test_an_average_by_hand(how, loss):
    assert average_loss(LOSSES, KEPT, how, max_tokens=3) == pytest.approx(loss, abs=1e-12)


@pytest.mark.parametrize("how", LossAggregation)
def test_where_nothing_is_kept_nothing_is_lost(how):
    assert average_loss([[1.0]], [[False]], how, max_tokens=1) == 0
