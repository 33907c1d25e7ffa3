"""The clipped policy loss and the ways to average it, in plain numbers: what both engines have to agree with (pure).

PPO's clip with another bound above (DAPO, arXiv 2503.14476, section 3.1) and a bound on what a bad reply can cost
(dual clip, arXiv 1912.09729). Trainers compute it in tensors; this is the reference they are held to.
"""

from collections.abc import Sequence
from math import exp, inf

from training.plans.plan import Loss, Policy

Rows = Sequence[Sequence[float]]
Kept = Sequence[Sequence[bool]]


def token(log_ratio: float, advantage: float, policy: Policy) -> float:
    """The loss of one token. `log_ratio` is its log-probability now less that when it was sampled."""
    ratio = exp(log_ratio)
    clipped = min(max(ratio, 1 - policy.clip_low), 1 + policy.clip_high)
    ceiling = inf if policy.ratio_ceiling is None else policy.ratio_ceiling
    return -min(min(ratio, ceiling) * advantage, clipped * advantage)


def averaged(losses: Rows, kept: Kept, how: Loss, longest: int) -> float:
    """One loss for a batch, a row for each reply; tokens that are not `kept` count nowhere.

    A reply of which nothing is kept still counts among the replies, so that dropping it never makes the others louder.
    `longest` is the most tokens that a reply may have. 0 where nothing is kept.
    """
    sums = [
        sum(loss for loss, keep in zip(row, mask, strict=True) if keep)
        for row, mask in zip(losses, kept, strict=True)
    ]
    counts = [sum(mask) for mask in kept]
    if not any(counts):
        return 0.0
    if how is Loss.TOKEN_MEAN:
        return sum(sums) / sum(counts)
    if how is Loss.CONSTANT_LENGTH:
        return sum(sums) / (len(sums) * longest)
    return sum(one / max(count, 1) for one, count in zip(sums, counts, strict=True)) / len(sums)
