"""Adapters of the tiny model with their probes, as a run leaves them; and a vLLM that serves it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from pathlib import Path

from model.adapters import adapter_files
from model.adapters.adapter_probe import FILE, Probe
from model.adapters.adapter_server import NamedAdapter
from tests import vllm_server
from tests.builders.models import tiny_model

BASE = "tiny"
DAY = date(2026, 11, 22)
LAYERS = ["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"]


@contextmanager
def serve_tiny_model() -> Iterator[vllm_server.Server]:
    """A vLLM on this machine's CPU that serves the tiny model as BASE."""
    with vllm_server.running(BASE, directory=tiny_model.get_base()) as server:
        yield server


def write_trained_run(run: Path, *, scale: float = 0.5, seed: int = 0) -> Probe:
    """A run's folder with an adapter of random weights and its probe; a scale of 0 changes nothing."""
    import torch  # noqa: PLC0415
    from peft import LoraConfig, get_peft_model  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    from training.trl import adapter_probe  # noqa: PLC0415

    torch.manual_seed(seed)
    plain = AutoModelForCausalLM.from_pretrained(tiny_model.get_base())
    model = get_peft_model(plain, LoraConfig(r=4, lora_alpha=8, target_modules=LAYERS))
    for name, weights in model.named_parameters():
        if "lora_B" in name:
            weights.data.normal_(0, scale) if scale else weights.data.zero_()
    model.save_pretrained(run / "adapter")
    tokenizer = AutoTokenizer.from_pretrained(tiny_model.get_base())
    texts = [tiny_model.render_messages(group) for group in tiny_model.build_groups(4)]
    prompts = [
        tokenizer.apply_chat_template(one, add_generation_prompt=True, return_dict=False)
        for one in texts
    ]
    measured = adapter_probe.measure_probe(
        model, prompts, adapter_files.hash_adapter(run / "adapter"), tokens=8
    )
    (run / FILE).write_text(json.dumps(asdict(measured)))
    return measured


def name_adapter(run: Path) -> NamedAdapter:
    """What a server needs to serve the adapter of a run."""
    sha256 = adapter_files.hash_adapter(run / "adapter")
    return NamedAdapter(
        adapter_files.build_adapter_name(sha256, DAY), BASE, run / "adapter", sha256
    )
