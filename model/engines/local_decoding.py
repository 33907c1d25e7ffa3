"""Helpers of the CPU decode loop: an attention without copies, and prefixes of token rows.

Imports transformers, so only `local_transformers` imports this module.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import transformers


def register_grouped_attention() -> str:
    """Register an attention for CPU decoding that does not copy keys and values, and return its name.

    Transformers repeats keys and values for every query head: seven times for Qwen2.5-0.5B. On a CPU that copy
    costs more than the rest of a decode step. Prompts still use the library's kernel.
    """

    def grouped(
        module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **options: Any
    ) -> tuple[Any, None]:
        rows, heads, length, width = query.shape
        if length > 1:
            output, _ = transformers.integrations.sdpa_attention.sdpa_attention_forward(
                module, query, key, value, attention_mask, **options
            )
            return output, None
        scores = query.view(rows, key.shape[1], -1, width) @ key.transpose(2, 3)
        scores = scores.float() * options.get("scaling", width**-0.5)
        if attention_mask is not None:  # (B, 1, 1, T), True where there is something to see
            scores = scores.masked_fill(~attention_mask, float("-inf"))
        output = scores.softmax(-1).to(value.dtype) @ value
        return output.view(rows, 1, heads, width), None

    name = "r4p_grouped"
    transformers.AttentionInterface.register(name, grouped)
    transformers.AttentionMaskInterface.register(name, transformers.masking_utils.sdpa_mask)
    return name


def count_common_prefix(rows: Sequence[Sequence[Hashable]]) -> int:
    """Count the leading tokens that all rows share. At least one token stays per row, since its logits are needed."""
    limit = min(map(len, rows)) - 1
    return min(limit, *(count_equal_prefix(rows[0], row) for row in rows))


def count_equal_prefix(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Count the leading tokens that two rows share."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(left), len(right)))
