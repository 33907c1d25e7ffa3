"""Advantages against numbers worked out by hand, and the laws that hold for all of them."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.models.policy_loss import average_loss, compute_token_loss
from training.objective.policy_gradient import (
    TRL_EPSILON,
    normalise_by_group,
    subtract_leave_one_out,
    subtract_mean,
)
from training.plans.plan import LossAggregation, PolicySettings

REWARDS = st.lists(st.none() | st.floats(-1, 1), max_size=8)
ALL = [normalise_by_group, subtract_leave_one_out, subtract_mean]


def test_grpo_advantages_match_hand_computed_values():
    # mean 1/4; squares 9/16 + 3/16 = 3/4 over 3: deviation 1/2
    assert normalise_by_group([1, 0, 0, 0], epsilon=0) == (1.5, -0.5, -0.5, -0.5)


def test_epsilon_is_added_to_the_deviation():
    assert normalise_by_group([1, 0, 0, 0], TRL_EPSILON)[0] == pytest.approx(
        0.75 / 0.5001, abs=1e-15
    )
    assert normalise_by_group([1, 0, 0, 0])[0] == pytest.approx(0.75 / 0.500001, abs=1e-15)


def test_leave_one_out_advantages_match_hand_computed_values():
    third = pytest.approx(-1 / 3, abs=1e-15)
    assert subtract_leave_one_out([1, 0, 0, 0]) == (1, third, third, third)


def test_advantages_without_deviation_match_hand_computed_values():
    assert subtract_mean([1, 0.5, 0, 0.5]) == (0.5, 0, -0.5, 0)


def test_unscorable_reply_does_not_change_the_others():
    # mean of 1, 0, 0.5 is 0.5; each is compared with the mean of the two others
    assert subtract_leave_one_out([1, None, 0, 0.5]) == (0.75, None, -0.75, 0)
    assert subtract_mean([1, None, 0, 0.5]) == (0.5, None, -0.5, 0)
    assert normalise_by_group([1, None, 0, 0.5], epsilon=0) == (1, None, -1, 0)


@pytest.mark.parametrize("advantages", ALL)
def test_single_or_equal_rewards_have_no_advantage(advantages):
    assert advantages([]) == ()
    assert advantages([0.75]) == (0,)
    assert advantages([None, 0.75, None]) == (None, 0, None)
    assert advantages([None, None]) == (None, None)
    assert advantages([0.75] * 4) == (0, 0, 0, 0)


@pytest.mark.parametrize("advantages", ALL)
@given(rewards=REWARDS)
def test_advantages_sum_to_zero_and_keep_the_order(advantages, rewards):
    values = advantages(rewards)
    scored = [(reward, one) for reward, one in zip(rewards, values, strict=True) if one is not None]
    assert [reward is None for reward in rewards] == [one is None for one in values]
    assert sum(one for _, one in scored) == pytest.approx(0, abs=1e-6)
    ordered = [one for _, one in sorted(scored)]
    assert ordered == sorted(ordered)


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
def test_token_loss_matches_hand_computed_values(ratio, advantage, loss):
    assert compute_token_loss(log(ratio), advantage, PolicySettings()) == pytest.approx(
        loss, abs=1e-12
    )


def test_token_loss_without_a_ceiling_is_unbounded():
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
def test_average_loss_matches_hand_computed_values(how, loss):
    assert average_loss(LOSSES, KEPT, how, max_tokens=3) == pytest.approx(loss, abs=1e-12)


@pytest.mark.parametrize("how", LossAggregation)
def test_average_loss_of_no_token_is_zero(how):
    assert average_loss([[1.0]], [[False]], how, max_tokens=1) == 0
