"""Compute advantages and the clipped policy loss in plain numbers, as the reference for both engines (pure).

Each advantage function takes the rewards of one prompt's replies. A reward of None is unscorable: its advantage
is None, which trainers read as 0, and it does not change the other advantages. With fewer than two scored
replies all advantages are 0. verl instead returns a lone reply's bare reward, which would reinforce any reply,
so plans require two replies.

The loss is PPO's clip with a separate upper bound (DAPO, arXiv 2503.14476, section 3.1) and a ceiling for
negative advantages (dual clip, arXiv 1912.09729). Tests compare TRL's and verl's tensors with it.
"""

from collections.abc import Sequence
from math import exp, inf
from statistics import fmean, stdev

from training.plans.plan import LossAggregation, PolicySettings

TRL_EPSILON = 1e-4
"""TRL 1.16 adds this to the standard deviation."""
VERL_EPSILON = 1e-6
"""verl 0.9 adds this to the standard deviation."""

Rewards = Sequence[float | None]
Advantages = tuple[float | None, ...]


def normalise_by_group(rewards: Rewards, epsilon: float = VERL_EPSILON) -> Advantages:
    """Compute GRPO's advantages (r - mean) / (s + epsilon) of rewards r, with s their sample deviation.

    DeepSeekMath (arXiv 2402.03300, section 4.1).
    """
    scored = _list_scored(rewards)
    # One reply has no sibling to compare with, and a deviation of 0 degrees of freedom.
    if len(scored) < 2:
        return _centre_and_scale(rewards, 0, 0)
    return _centre_and_scale(rewards, fmean(scored), 1 / (stdev(scored) + epsilon))


def subtract_mean(rewards: Rewards) -> Advantages:
    """Compute Dr. GRPO's advantages r - mean, which do not scale up nearly equal rewards (arXiv 2503.20783)."""
    scored = _list_scored(rewards)
    return (
        _centre_and_scale(rewards, fmean(scored), 1)
        if len(scored) > 1
        else _centre_and_scale(rewards, 0, 0)
    )


def subtract_leave_one_out(rewards: Rewards) -> Advantages:
    """Compute RLOO's advantages: each reward minus the mean of the others (arXiv 2402.14740)."""
    scored = _list_scored(rewards)
    count = len(scored)
    if count < 2:
        return _centre_and_scale(rewards, 0, 0)
    # r - (S - r) / (n - 1) = (r - mean) * n / (n - 1), with S the sum of all n rewards.
    return _centre_and_scale(rewards, fmean(scored), count / (count - 1))


def _list_scored(rewards: Rewards) -> list[float]:
    return [reward for reward in rewards if reward is not None]


def _centre_and_scale(rewards: Rewards, baseline: float, factor: float) -> Advantages:
    return tuple(None if reward is None else (reward - baseline) * factor for reward in rewards)


Rows = Sequence[Sequence[float]]
Mask = Sequence[Sequence[bool]]


def compute_token_loss(log_ratio: float, advantage: float, policy: PolicySettings) -> float:
    """Return the clipped policy loss of one token. `log_ratio` is log p_now - log p_sampled, in nats."""
    # exp(log p_now - log p_sampled): 1 while the weights have not changed since sampling.
    ratio = exp(log_ratio)
    clipped = min(max(ratio, 1 - policy.clip_low), 1 + policy.clip_high)
    ceiling = inf if policy.ratio_ceiling is None else policy.ratio_ceiling
    # min of both products: the clip only ever makes the objective smaller (pessimistic bound).
    # The ceiling matters for negative advantages only, where a large ratio is otherwise unbounded.
    return -min(min(ratio, ceiling) * advantage, clipped * advantage)


def average_loss(losses: Rows, mask: Mask, aggregation: LossAggregation, max_tokens: int) -> float:
    """Average token losses of shape (replies, tokens) to one number. Tokens with mask 0 do not count.

    A fully masked reply still counts in the number of replies, so masking it does not increase the weight of
    the others. `max_tokens` is the longest reply allowed. Returns 0 if everything is masked.
    """
    # losses and mask: one row of tokens for each reply; sums and counts: one number for each reply.
    sums = [
        sum(loss for loss, keep in zip(row, mask, strict=True) if keep)
        for row, mask in zip(losses, mask, strict=True)
    ]
    counts = [sum(mask) for mask in mask]
    if not any(counts):
        return 0.0
    # DAPO: long replies weigh more, since every token weighs the same.
    if aggregation is LossAggregation.TOKEN_MEAN:
        return sum(sums) / sum(counts)
    # Dr. GRPO: a constant divisor, so that long wrong replies are not favoured.
    if aggregation is LossAggregation.CONSTANT_LENGTH:
        return sum(sums) / (len(sums) * max_tokens)
    # max(count, 1): a fully masked reply adds 0 but still counts in len(sums).
    return sum(total / max(count, 1) for total, count in zip(sums, counts, strict=True)) / len(sums)
