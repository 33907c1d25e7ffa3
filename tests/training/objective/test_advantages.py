"""Advantages against numbers worked out by hand, and the laws that hold for all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.objective.advantages import (
    TRL_EPSILON,
    normalise_by_group,
    subtract_leave_one_out,
    subtract_mean,
)

REWARDS = st.lists(st.none() | st.floats(-1, 1), max_size=8)
ALL = [normalise_by_group, subtract_leave_one_out, subtract_mean]


def test_grpo_by_hand():
    # mean 1/4; squares 9/16 + 3/16 = 3/4 over 3: deviation 1/2
    assert normalise_by_group([1, 0, 0, 0], epsilon=0) == (1.5, -0.5, -0.5, -0.5)


def test_epsilon_is_added_to_the_deviation():
    assert normalise_by_group([1, 0, 0, 0], TRL_EPSILON)[0] == pytest.approx(
        0.75 / 0.5001, abs=1e-15
    )
    assert normalise_by_group([1, 0, 0, 0])[0] == pytest.approx(0.75 / 0.500001, abs=1e-15)


def test_leave_one_out_by_hand():
    third = pytest.approx(-1 / 3, abs=1e-15)
    assert subtract_leave_one_out([1, 0, 0, 0]) == (1, third, third, third)


def test_without_deviation_by_hand():
    assert subtract_mean([1, 0.5, 0, 0.5]) == (0.5, 0, -0.5, 0)


def test_an_unscorable_reply_is_as_if_it_had_not_been_asked_for():
    # mean of 1, 0, 0.5 is 0.5; each is compared with the mean of the two others
    assert subtract_leave_one_out([1, None, 0, 0.5]) == (0.75, None, -0.75, 0)
    assert subtract_mean([1, None, 0, 0.5]) == (0.5, None, -0.5, 0)
    assert normalise_by_group([1, None, 0, 0.5], epsilon=0) == (1, None, -1, 0)


@pytest.mark.parametrize("advantages", ALL)
def test_nothing_is_learnt_from_what_cannot_be_compared(advantages):
    assert advantages([]) == ()
    assert advantages([0.75]) == (0,)
    assert advantages([None, 0.75, None]) == (None, 0, None)
    assert advantages([None, None]) == (None, None)
    assert advantages([0.75] * 4) == (0, 0, 0, 0)


@pytest.mark.parametrize("advantages", ALL)
@given(rewards=REWARDS)
def test_they_sum_to_nothing_and_keep_the_order(advantages, rewards):
    found = advantages(rewards)
    scored = [(reward, one) for reward, one in zip(rewards, found, strict=True) if one is not None]
    assert [reward is None for reward in rewards] == [one is None for one in found]
    assert sum(one for _, one in scored) == pytest.approx(0, abs=1e-6)
    ordered = [one for _, one in sorted(scored)]
    assert ordered == sorted(ordered)
