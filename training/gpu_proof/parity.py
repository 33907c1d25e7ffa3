"""Compare a reloaded adapter's log-probabilities with those that its trainer wrote. Loads torch.

The trainer scores one whole sequence at a time. Sampling reads a padded batch once and then single tokens with a cache
of keys and values. This module scores as sampling does, so a wrong mask, position or adapter shows as a distance.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel

from model.adapters import adapter_probe
from model.adapters.adapter_probe import Passage, Probe, ServedLogprobs


def measure_parity(model: Any, probe: Probe) -> dict[str, Any]:
    """Return the comparison of a PEFT model with the probe of its adapter, and the objections, as JSON values."""
    model.eval()
    with torch.inference_mode():
        adapted = score_in_batch(model, probe.passages)
        with model.disable_adapter():
            base, again = (score_in_batch(model, probe.passages) for _ in range(2))
    comparison = adapter_probe.compare(probe, ServedLogprobs(base, again, adapted))
    return asdict(comparison) | {"objections": list(adapter_probe.find_objections(comparison))}


def load_adapter(plan_model: Any, adapter: Path) -> Any:
    """Return the base model with the adapter in the folder `adapter`."""
    return PeftModel.from_pretrained(plan_model, str(adapter))


def score_in_batch(model: Any, passages: Sequence[Passage]) -> tuple[tuple[float, ...], ...]:
    """Return the natural log-probabilities of each passage's continuation, from one padded batch with a cache.

    All continuations have the same length (S). B passages, P tokens of the longest prompt, V words of the vocabulary.
    """
    width = max(len(passage.prompt) for passage in passages)
    gaps = [width - len(passage.prompt) for passage in passages]
    # Padding stands on the left (B, P), as in sampling, so that all next tokens are in the last column.
    rows = [[0] * gap + list(p.prompt) for gap, p in zip(gaps, passages, strict=True)]
    seen = [[0] * gap + [1] * (width - gap) for gap in gaps]
    tokens = torch.tensor(rows, device=model.device)
    mask = torch.tensor(seen, device=model.device)
    targets = torch.tensor([p.continuation for p in passages], device=model.device)  # (B, S)
    # Real tokens count from 0, or padding would shift the rotary positions of a row.
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    cache, scores = None, []
    for column in targets.unbind(1):
        output = model(
            input_ids=tokens,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        cache = output.past_key_values
        # float32, as the trainer's probe: (B, 1, V) -> (B, V), then the entry of the token that follows.
        chances = output.logits[:, -1].float().log_softmax(-1)
        scores.append(chances.gather(1, column[:, None])[:, 0])
        tokens = column[:, None]
        mask = torch.cat([mask, torch.ones_like(tokens)], dim=1)
        positions = positions[:, -1:] + 1
    return tuple(tuple(row) for row in torch.stack(scores, dim=1).tolist())
