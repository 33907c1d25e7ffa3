"""The model that is trained: its weights, its tokenizer, and the adapter that is put on it. Loads torch."""

from typing import Any

import torch
import transformers
from peft import LoraConfig

from training.plan import BadPlan, Lora, TrainPlan

_TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def tokenizer(plan: TrainPlan) -> Any:
    """Of the base. Raises BadPlan where there is none, or it has no chat template."""
    try:
        found: Any = transformers.AutoTokenizer.from_pretrained(plan.model.base)
    except (OSError, ValueError) as error:
        raise BadPlan(f"model.base = {plan.model.base!r} has no tokenizer: {error}") from error
    if not found.chat_template:
        raise BadPlan(
            f"model.base = {plan.model.base!r} has no chat template; use an instruct model"
        )
    found.pad_token = found.pad_token or found.eos_token
    return found


def causal(plan: TrainPlan) -> Any:
    """The base, to write replies. Raises BadPlan."""
    return _loaded(plan, transformers.AutoModelForCausalLM)


def scoring(plan: TrainPlan, pad: int) -> Any:
    """The base with a head of one score, new and so random, in place of its words. Raises BadPlan."""
    transformers.set_seed(plan.seed)
    found = _loaded(plan, transformers.AutoModelForSequenceClassification, num_labels=1)
    found.config.pad_token_id = pad
    return found


def adapter(lora: Lora | None, *, scores: bool = False) -> LoraConfig | None:
    """What PEFT is told; None: all weights are trained. With `scores` it keeps the new head, trained, as well."""
    if lora is None:
        return None
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.targets),
        bias="none",
        task_type="SEQ_CLS" if scores else "CAUSAL_LM",
    )


def _loaded(plan: TrainPlan, kind: Any, **more: Any) -> Any:
    try:
        return kind.from_pretrained(plan.model.base, dtype=_TYPES[plan.model.dtype], **more)
    except (OSError, ValueError) as error:
        raise BadPlan(f"model.base = {plan.model.base!r} can't be loaded: {error}") from error
