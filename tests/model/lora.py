"""A LoRA adapter with random weights, as PEFT would save it."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file


def make(directory: Path, base: Path, *, scale: float, rank: int = 4) -> Path:
    """Adapts every query projection of the model in `base`; a scale of 0 changes nothing."""
    config = json.loads((base / "config.json").read_text())
    width, heads = config["hidden_size"], config["num_attention_heads"]
    queries = heads * config.get("head_dim", width // heads)
    generator = torch.Generator().manual_seed(0)
    tensors = {}
    for layer in range(config["num_hidden_layers"]):
        place = f"base_model.model.model.layers.{layer}.self_attn.q_proj"
        tensors[f"{place}.lora_A.weight"] = torch.randn(rank, width, generator=generator)
        tensors[f"{place}.lora_B.weight"] = scale * torch.randn(queries, rank, generator=generator)
    directory.mkdir(parents=True)
    save_file(tensors, directory / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "r": rank, "lora_alpha": rank, "target_modules": ["q_proj"]}
    (directory / "adapter_config.json").write_text(json.dumps(settings | {"bias": "none"}))
    return directory
