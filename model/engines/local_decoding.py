"""Helpers of the CPU decode loop: attention without copies, sampling, and prefixes of token rows.

Imports transformers, so only `local_transformers` imports this module.
"""

import copy
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import transformers

TOP_K = 20
TOP_P = 0.8
"""Sampling defaults of Qwen2.5, with TOP_K. Below 1B parameters the tail of the distribution is noise."""


@dataclass(frozen=True, slots=True)
class CachedPrefix:
    """The token ids of a prompt prefix, with their attention keys and values in `cache`. `cache` is never changed."""

    tokens: list[int]
    cache: Any

    def first(self, length: int) -> Any:
        """Return a copy of the prefix's keys and values, cut to the first `length` tokens. The caller may extend it."""
        if not length:
            return transformers.DynamicCache()
        # a shallow copy shares the tensors (1, K, T, D): appending allocates new ones, so the prefix stays intact
        cache = copy.copy(self.cache)
        cache.layers = [copy.copy(layer) for layer in self.cache.layers]
        if length < len(self.tokens):
            cache.crop(length)
        return cache


def register_grouped_attention() -> str:
    """Register an attention function in transformers that does not copy keys and values, and return its name.

    Transformers repeats keys and values for every query head: seven times for Qwen2.5-0.5B. On a CPU that copy
    costs more than the rest of a decode step. Prompts still use the library's kernel.
    """

    def attend(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any
    ) -> tuple[Any, None]:
        # query (B, H, S, D); key and value (B, K, T, D) with H a multiple of K
        rows, heads, length, width = query.shape
        if length > 1:  # a prompt: the library's fused kernel is faster there
            output, _ = transformers.integrations.sdpa_attention.sdpa_attention_forward(
                module, query, key, value, attention_mask, **options
            )
            return output, None
        # with S = 1 the heads of a group become rows of one product: (B, K, H/K, D) @ (B, K, D, T) -> (B, K, H/K, T)
        scores = query.view(rows, key.shape[1], -1, width) @ key.transpose(2, 3)
        # float32: a softmax over thousands of bfloat16 scores loses small weights
        scores = scores.float() * options.get("scaling", width**-0.5)
        if attention_mask is not None:  # (B, 1, 1, T), True for real tokens
            scores = scores.masked_fill(~attention_mask, float("-inf"))
        output = scores.softmax(-1).to(value.dtype) @ value
        # (B, K, H/K, D) -> (B, 1, H, D), the layout that transformers expects from an attention
        return output.view(rows, 1, heads, width), None

    name = "r4p_grouped"
    transformers.AttentionInterface.register(name, attend)
    # without its own entry, an unknown attention gets no mask at all
    transformers.AttentionMaskInterface.register(name, transformers.masking_utils.sdpa_mask)
    return name


def count_common_prefix(rows: Sequence[Sequence[Hashable]]) -> int:
    """Count the leading tokens that all prompts of a batch share. `rows` holds the tokens of each prompt.

    The last token of the shortest prompt never counts, since its logits are needed.
    """
    limit = min(map(len, rows)) - 1  # a fully cached row would get no logits
    return min(limit, *(count_equal_prefix(rows[0], row) for row in rows))


def count_equal_prefix(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Count the leading tokens that the prompts `left` and `right` share."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(left), len(right)))


def sample_token(scores: Any, temperature: float, generator: Any) -> int:
    """Sample a token id from `scores`, the logits of all V tokens, by temperature, top-k and top-p.

    Temperature 0 is greedy. `generator` is torch's source of random numbers.
    """
    if temperature <= 0:
        return int(scores.argmax())
    top = (scores / temperature).topk(min(TOP_K, len(scores)))  # (TOP_K,), sorted
    probabilities = top.values.softmax(-1)
    # top-p: drop tokens once those before them reach TOP_P; multinomial normalises the rest
    probabilities[probabilities.cumsum(-1) - probabilities >= TOP_P] = 0
    return int(top.indices[torch.multinomial(probabilities, 1, generator=generator)])
