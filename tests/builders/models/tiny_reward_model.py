"""A reward model of random weights, whole or as an adapter of a base, and patches that it can score."""

from pathlib import Path

from tests.builders.models import tiny_model


def write_reward_model(directory: Path, *, labels: int = 1) -> Path:
    """A random Qwen2 with a random head of `labels` scores, and its tokenizer."""
    import torch  # noqa: PLC0415
    from transformers import AutoModelForSequenceClassification, AutoTokenizer  # noqa: PLC0415

    tiny_model.write_random_model(directory)
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(directory, num_labels=labels)
    tokenizer = AutoTokenizer.from_pretrained(directory)
    model.config.pad_token_id = tokenizer.pad_token_id
    torch.nn.init.normal_(model.score.weight, std=1.0)
    model.save_pretrained(directory)
    return directory


def write_adapter(directory: Path, base: Path, *, labels: int | None = 1) -> Path:
    """An adapter with a head of `labels` scores, or a plain one without a head, for `base`."""
    import torch  # noqa: PLC0415
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415
    from transformers import (  # noqa: PLC0415
        AutoModelForCausalLM,
        AutoModelForSequenceClassification,
    )

    torch.manual_seed(1)
    if labels is None:
        model, task = AutoModelForCausalLM.from_pretrained(base), "CAUSAL_LM"
    else:
        kind = AutoModelForSequenceClassification
        model, task = kind.from_pretrained(base, num_labels=labels), "SEQ_CLS"
    adapted = get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj"], task_type=task))
    for name, weights in adapted.named_parameters():
        if "lora_B" in name:
            weights.data.normal_(0, 0.5)
    adapted.save_pretrained(directory)
    return directory
