"""Weigh tokens that another engine sampled by the bounded ratio of trainer to sampler probability.

TRL 1.16 applies the same correction to its own vLLM. Needs torch.
"""

import torch

from training.plans.plan import ImportanceCorrection

_SEQUENCES = (ImportanceCorrection.SEQUENCE_TRUNCATE, ImportanceCorrection.SEQUENCE_MASK)
_MASKED = (ImportanceCorrection.TOKEN_MASK, ImportanceCorrection.SEQUENCE_MASK)


def compute_weights(
    trainer_logprobs: torch.Tensor,
    sampler_logprobs: torch.Tensor,
    mask: torch.Tensor,
    mode: ImportanceCorrection,
    ceiling: float,
) -> torch.Tensor:
    """Return loss factors of shape (replies, tokens) from natural log-probabilities of that shape.

    Tokens with `mask` 0 do not count in sequence ratios. A factor above `ceiling` is cut to it, or set to 0 in
    the `*-mask` modes.
    """
    apart = (trainer_logprobs - sampler_logprobs) * mask
    if mode in _SEQUENCES:
        apart = apart.sum(dim=-1, keepdim=True).expand_as(apart)
    ratio = apart.exp()
    if mode in _MASKED:
        return ratio.masked_fill(ratio > ceiling, 0.0)
    return ratio.clamp(max=ceiling)
