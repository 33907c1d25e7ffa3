"""Load the model to train, its tokenizer and its adapter. Loads torch."""

from pathlib import Path
from typing import Any

import torch
import transformers
from peft import LoraConfig, PeftModel

from model.adapters import adapter_files
from training.plans.plan import BadPlan, LoraSettings, TrainPlan
from training.plans.validation import list_sequence_limits

_TYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def load_tokenizer(plan: TrainPlan) -> Any:
    """Load the tokenizer of the plan's base model. Raises BadPlan if it is missing or has no chat template."""
    _refuse_adapter(plan)
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(plan.model.base)
    except (OSError, ValueError) as error:
        raise BadPlan(f"model.base = {plan.model.base!r} has no tokenizer: {error}") from error
    if not tokenizer.chat_template:
        raise BadPlan(
            f"model.base = {plan.model.base!r} has no chat template; use an instruct model"
        )
    # Batches need padding. EOS is safe, because padded positions are masked everywhere.
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return tokenizer


def load_causal_model(plan: TrainPlan) -> Any:
    """Load the plan's base model as a causal language model.

    Raises BadPlan if it cannot be loaded or if the plan's sequences are longer than its context.
    """
    return _load(plan, transformers.AutoModelForCausalLM)


def load_trainable_model(plan: TrainPlan) -> dict[str, Any]:
    """Load the model to train, and return it as the arguments `model` and `peft_config` of TRL's trainers, by name.

    Raises BadPlan if the plan's base model cannot be loaded.
    If the plan names an adapter, training continues it. TRL then copies it as the reference model.
    """
    config = build_lora_config(plan.adapter)
    if not plan.model.adapter:
        return {"model": load_causal_model(plan), "peft_config": config}
    kept = PeftModel.from_pretrained(
        load_causal_model(plan), plan.model.adapter, is_trainable=True, config=config
    )
    return {"model": kept, "peft_config": None}


def load_scoring_model(plan: TrainPlan, pad_id: int) -> Any:
    """Load the plan's base model with a new random head that gives one score. `pad_id` is the id of the padding token.

    Raises BadPlan if the base model cannot be loaded or if the plan's sequences are longer than its context.
    """
    # Seeded, because the new head is random and a resumed run must start from the same one.
    transformers.set_seed(plan.seed)
    model = _load(plan, transformers.AutoModelForSequenceClassification, num_labels=1)
    # transformers reads the score at the last token that is not padding, so it must know the padding id.
    model.config.pad_token_id = pad_id
    return model


def build_lora_config(lora: LoraSettings | None, *, for_scoring: bool = False) -> LoraConfig | None:
    """Return PEFT's configuration for a plan's LoRA settings.

    `lora` None returns None, so that all weights are trained. With `for_scoring` PEFT also trains the new head of a
    reward model.
    """
    if lora is None:
        return None
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.targets),
        # vLLM serves neither biases nor other task heads of an adapter.
        bias="none",
        task_type="SEQ_CLS" if for_scoring else "CAUSAL_LM",
    )


def _refuse_adapter(plan: TrainPlan) -> None:
    if (Path(plan.model.base) / adapter_files.CONFIG).exists():
        raise BadPlan(
            f"model.base = {plan.model.base!r} is an adapter, not a model: give its base with --base and the adapter with --adapter"
        )


def _refuse_too_long(plan: TrainPlan, config: Any) -> None:
    """Raise BadPlan if the plan's sequences are longer than the model's context, extended by YaRN."""
    reads = getattr(config, "max_position_embeddings", None)
    rope = getattr(config, "rope_parameters", None) or {}
    # YaRN scales positions: a model made for L tokens reads L x factor.
    if reads and rope.get("rope_type") == "yarn":
        made_for = rope.get("original_max_position_embeddings") or reads
        reads = max(reads, int(made_for * rope.get("factor", 1)))
    keys = list_sequence_limits(plan)
    if reads and sum(keys.values()) > reads:
        limits = " + ".join(f"{key} = {value}" for key, value in keys.items())
        raise BadPlan(
            f"{limits} is more than the {reads} tokens that {plan.model.base} reads; give less"
        )


def _load(plan: TrainPlan, kind: Any, **more: Any) -> Any:
    _refuse_adapter(plan)
    try:
        _refuse_too_long(plan, transformers.AutoConfig.from_pretrained(plan.model.base))
        return kind.from_pretrained(plan.model.base, dtype=_TYPES[plan.model.dtype], **more)
    except (OSError, ValueError) as error:
        raise BadPlan(f"model.base = {plan.model.base!r} can't be loaded: {error}") from error
