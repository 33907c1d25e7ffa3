"""How much a token counts that another engine sampled: the trainer's probability over the sampler's, bounded.

As TRL 1.16 weighs what its own vLLM sampled. Needs torch.
"""

import torch

from training.plans.plan import Importance

_SEQUENCES = (Importance.SEQUENCE_TRUNCATE, Importance.SEQUENCE_MASK)
_MASKED = (Importance.TOKEN_MASK, Importance.SEQUENCE_MASK)


def weights(
    trained: torch.Tensor,
    sampled: torch.Tensor,
    mask: torch.Tensor,
    mode: Importance,
    ceiling: float,
) -> torch.Tensor:
    """Factors of the loss, shape (replies, tokens), from natural log-probabilities of that shape.

    A token that `mask` leaves out says nothing about its sequence. Above `ceiling` a factor is cut, or with `*-mask` 0.
    """
    apart = (trained - sampled) * mask
    if mode in _SEQUENCES:
        apart = apart.sum(dim=-1, keepdim=True).expand_as(apart)
    ratio = apart.exp()
    if mode in _MASKED:
        return ratio.masked_fill(ratio > ceiling, 0.0)
    return ratio.clamp(max=ceiling)
