"""What a trained adapter makes of a few texts, noted for the servers that shall serve it; needs torch."""

from collections.abc import Sequence
from typing import Any

import torch

from model.adapters.adapter_probe import Passage, Probe

TOKENS = 16
"""Of each continuation."""


def measure(
    model: Any, prompts: Sequence[Sequence[int]], adapter: str, *, tokens: int = TOKENS
) -> Probe:
    """What greedy continuations of some prompts (token ids) are worth to a PEFT model with and without its adapter.

    `adapter`: SHA-256 of its files. Write the probe as `asdict` of it.
    """
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            passages = tuple(_passage(model, prompt, tokens) for prompt in prompts)
    finally:
        model.train(was_training)
    return Probe(adapter, passages)


def _passage(model: Any, prompt: Sequence[int], tokens: int) -> Passage:
    ids = torch.tensor([list(prompt)], device=model.device)
    continuation = []
    for _ in range(tokens):
        chosen = model(input_ids=ids).logits[0, -1].argmax()
        continuation.append(int(chosen))
        ids = torch.cat([ids, chosen.view(1, 1)], dim=1)
    adapted = _worth(model, ids, len(prompt))
    with model.disable_adapter():
        base = _worth(model, ids, len(prompt))
    return Passage(tuple(prompt), tuple(continuation), base, adapted)


def _worth(model: Any, ids: Any, start: int) -> tuple[float, ...]:
    """Natural log-probabilities of the tokens from `start` on."""
    logits = model(input_ids=ids).logits[0, start - 1 : -1].float()
    chances = logits.log_softmax(-1)
    return tuple(chances.gather(-1, ids[0, start:, None])[:, 0].tolist())
