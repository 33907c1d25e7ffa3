"""The model that is trained: its weights, its tokenizer, and the adapter that is put on it. Loads torch."""

from pathlib import Path
from typing import Any

import torch
import transformers
from peft import LoraConfig, PeftModel

from model.adapters import adapter_files
from training.plans.plan import BadPlan, Lora, TrainPlan
from training.plans.validation import longest

_TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def tokenizer(plan: TrainPlan) -> Any:
    """Of the base. Raises BadPlan where there is none, or it has no chat template."""
    _refuse_an_adapter(plan)
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


def trainable(plan: TrainPlan) -> dict[str, Any]:
    """The base and what is trained of it, as TRL's trainers of replies are told: with the plan's adapter if it names one.

    A loss that keeps a trainer near where it began means that adapter then, of which TRL makes a copy. Raises BadPlan.
    """
    config = adapter(plan.adapter)
    if not plan.model.adapter:
        return {"model": causal(plan), "peft_config": config}
    kept = PeftModel.from_pretrained(
        causal(plan), plan.model.adapter, is_trainable=True, config=config
    )
    return {"model": kept, "peft_config": None}


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


def _refuse_an_adapter(plan: TrainPlan) -> None:
    if (Path(plan.model.base) / adapter_files.CONFIG).exists():
        raise BadPlan(
            f"model.base = {plan.model.base!r} is an adapter and no model: name its base by --base, and it by --adapter"
        )


def _refuse_too_long(plan: TrainPlan, config: Any) -> None:
    """Where the plan's sequences may be longer than the model reads. YaRN stretches what it was made for."""
    reads = getattr(config, "max_position_embeddings", None)
    rope = getattr(config, "rope_parameters", None) or {}
    if reads and rope.get("rope_type") == "yarn":
        made_for = rope.get("original_max_position_embeddings") or reads
        reads = max(reads, int(made_for * rope.get("factor", 1)))
    keys = longest(plan)
    if reads and sum(keys.values()) > reads:
        told = " + ".join(f"{key} = {value}" for key, value in keys.items())
        raise BadPlan(
            f"{told} is more than the {reads} tokens that {plan.model.base} reads; give less"
        )


def _loaded(plan: TrainPlan, kind: Any, **more: Any) -> Any:
    _refuse_an_adapter(plan)
    try:
        _refuse_too_long(plan, transformers.AutoConfig.from_pretrained(plan.model.base))
        return kind.from_pretrained(plan.model.base, dtype=_TYPES[plan.model.dtype], **more)
    except (OSError, ValueError) as error:
        raise BadPlan(f"model.base = {plan.model.base!r} can't be loaded: {error}") from error
