"""Compute advantages in plain numbers, the same for both engines (pure).

Each advantage function takes the rewards of one prompt's replies. A reward of None is unscorable: its advantage
is None, which trainers read as 0, and it does not change the other advantages. With fewer than two scored
replies all advantages are 0. verl instead returns a lone reply's bare reward, which would reinforce any reply,
so plans require two replies.
"""

from collections.abc import Sequence
from statistics import fmean, stdev

TRL_EPSILON = 1e-4
"""TRL 1.16 adds this to the standard deviation."""
VERL_EPSILON = 1e-6
"""verl 0.9 adds this to the standard deviation."""

Rewards = Sequence[float | None]
Advantages = tuple[float | None, ...]


def normalise_by_group(rewards: Rewards, epsilon: float = VERL_EPSILON) -> Advantages:
    """Compute GRPO's advantages (r - mean) / (s + epsilon) of rewards r, with s their sample deviation.

    A reward of None gives None and does not count (DeepSeekMath, arXiv 2402.03300, section 4.1).
    """
    scored = _list_scored(rewards)
    # One reply has no sibling to compare with, and a deviation of 0 degrees of freedom.
    if len(scored) < 2:
        return _centre_and_scale(rewards, 0, 0)
    return _centre_and_scale(rewards, fmean(scored), 1 / (stdev(scored) + epsilon))


def subtract_mean(rewards: Rewards) -> Advantages:
    """Compute Dr. GRPO's advantages r - mean of rewards r, without a scale (arXiv 2503.20783).

    So nearly equal rewards get small advantages. A reward of None gives None and does not count.
    """
    scored = _list_scored(rewards)
    # A lone reply is its own mean, so its difference says nothing: 0, as in the other two.
    return (
        _centre_and_scale(rewards, fmean(scored), 1)
        if len(scored) > 1
        else _centre_and_scale(rewards, 0, 0)
    )


def subtract_leave_one_out(rewards: Rewards) -> Advantages:
    """Compute RLOO's advantages: each reward minus the mean of the others (arXiv 2402.14740).

    A reward of None gives None and does not count.
    """
    scored = _list_scored(rewards)
    count = len(scored)
    if count < 2:
        return _centre_and_scale(rewards, 0, 0)
    # r - (S - r) / (n - 1) = (r - mean) * n / (n - 1), with S the sum of all n rewards.
    return _centre_and_scale(rewards, fmean(scored), count / (count - 1))


def _list_scored(rewards: Rewards) -> list[float]:
    return [reward for reward in rewards if reward is not None]


def _centre_and_scale(rewards: Rewards, baseline: float, factor: float) -> Advantages:
    # None stays None instead of 0: callers can tell an unscored reply from an average one.
    return tuple(None if reward is None else (reward - baseline) * factor for reward in rewards)
