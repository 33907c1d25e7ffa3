"""How much better each reply was than its siblings: what a policy gradient is weighed by (pure).

One call is about the replies to one prompt. A reward of None is unscorable: it gets None (a trainer's 0), and the others
are compared as if it had not been asked for. With fewer than two scored replies nothing can be compared, so all get 0;
verl gives a lone reply its bare reward instead, which pushes towards whatever was said, so plans ask for two at least.
"""

from collections.abc import Sequence
from statistics import fmean, stdev

TRL_EPSILON = 1e-4
"""What TRL 1.16 adds to the deviation."""
VERL_EPSILON = 1e-6
"""What verl 0.9 adds to it."""

Rewards = Sequence[float | None]
Advantages = tuple[float | None, ...]


def grpo(rewards: Rewards, epsilon: float = VERL_EPSILON) -> Advantages:
    """(reward - mean) / (sample deviation + epsilon), as DeepSeekMath's GRPO (arXiv 2402.03300, section 4.1)."""
    scored = _scored(rewards)
    if len(scored) < 2:
        return _times(rewards, 0, 0)
    return _times(rewards, fmean(scored), 1 / (stdev(scored) + epsilon))


def without_deviation(rewards: Rewards) -> Advantages:
    """Reward - mean: a group that nearly agrees is not blown up (Dr. GRPO, arXiv 2503.20783)."""
    scored = _scored(rewards)
    return _times(rewards, fmean(scored), 1) if len(scored) > 1 else _times(rewards, 0, 0)


def leave_one_out(rewards: Rewards) -> Advantages:
    """Reward - mean of the others, so that no reply is part of its own baseline (RLOO, arXiv 2402.14740)."""
    scored = _scored(rewards)
    count = len(scored)
    if count < 2:
        return _times(rewards, 0, 0)
    return _times(rewards, fmean(scored), count / (count - 1))


def _scored(rewards: Rewards) -> list[float]:
    return [one for one in rewards if one is not None]


def _times(rewards: Rewards, baseline: float, factor: float) -> Advantages:
    return tuple(None if one is None else (one - baseline) * factor for one in rewards)
