"""Measure what a trained adapter predicts on a few prompts, so that servers can be checked. Needs torch."""

from collections.abc import Sequence
from typing import Any

import torch

from model.adapters.adapter_probe import Passage, Probe

TOKENS = 16
"""Length of each continuation."""


def measure_probe(
    model: Any, prompts: Sequence[Sequence[int]], adapter: str, *, tokens: int = TOKENS
) -> Probe:
    """Return log-probabilities of greedy continuations with and without the adapter of a PEFT model.

    `prompts` are token ids, `adapter` is the SHA-256 of the adapter's files, `tokens` the length of a continuation.
    """
    was_training = model.training
    # Dropout would make the probe random.
    model.eval()
    try:
        with torch.inference_mode():
            passages = tuple(_measure_passage(model, prompt, tokens) for prompt in prompts)
    finally:
        model.train(was_training)
    return Probe(adapter, passages)


def _measure_passage(model: Any, prompt: Sequence[int], tokens: int) -> Passage:
    ids = torch.tensor([list(prompt)], device=model.device)
    continuation = []
    # Greedy decoding without a KV cache: a few tokens only, and the same code path as the scores below.
    for _ in range(tokens):
        # logits: (1, length, vocabulary). Position -1 predicts the next token.
        chosen = model(input_ids=ids).logits[0, -1].argmax()
        continuation.append(int(chosen))
        # ids: (1, length) -> (1, length + 1).
        ids = torch.cat([ids, chosen.view(1, 1)], dim=1)
    adapted = _compute_logprobs(model, ids, len(prompt))
    # The base scores the adapter's own continuation. Equal scores on a server mean it ignored the adapter.
    with model.disable_adapter():
        base = _compute_logprobs(model, ids, len(prompt))
    return Passage(tuple(prompt), tuple(continuation), base, adapted)


def _compute_logprobs(model: Any, ids: Any, start: int) -> tuple[float, ...]:
    """Return the natural log-probabilities of the tokens from `start` on."""
    # Position t predicts token t + 1, hence the shift by one: (continuation, vocabulary).
    # float32, since bfloat16 keeps about three digits of a log-probability.
    logits = model(input_ids=ids).logits[0, start - 1 : -1].float()
    chances = logits.log_softmax(-1)
    # gather picks the log-probability of each token that follows: (continuation, 1).
    return tuple(chances.gather(-1, ids[0, start:, None])[:, 0].tolist())
