"""The policy loss in plain numbers, which the tensors of TRL and verl are compared with.

It is PPO's clip with a separate upper bound (DAPO, arXiv 2503.14476, section 3.1) and a ceiling for negative
advantages (dual clip, arXiv 1912.09729).
"""

from collections.abc import Sequence
from math import exp, inf

from training.plans.plan import LossAggregation, PolicySettings

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
