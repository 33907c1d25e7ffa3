"""Save what a training has learnt: the weights or the adapter, and the adapter's probe. Loads torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accelerate import PartialState
from peft import PeftModel

from model.adapters import adapter_files
from model.prompts import prompt_template
from model.prompts.special_tokens import read_special_tokens
from training.datasets import verifier_prompts
from training.datasets.groups import TrainingGroup
from training.plans.plan import TrainPlan
from training.rollouts import tokenization
from training.runs import run_folder
from training.trl import adapter_probe, model_loading

_PROBED_PROMPTS = 4
"""Number of prompts in the adapter's probe."""


def save_weights(trainer: Any, directory: Path) -> None:
    """Save the trained weights or adapter in `directory`, replacing what is there.

    All processes must call this function, because each may hold a shard.
    """
    beside = directory.with_name(f".{directory.name}.new")
    if trainer.is_fsdp_enabled:  # of shards, which checkpoints may be, nothing would be saved here
        trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
    trainer.save_model(str(beside))
    # Other processes must not read the folder before the main one has moved it.
    PartialState().wait_for_everyone()
    if not PartialState().is_main_process:
        return
    if is_adapter := (beside / adapter_files.CONFIG).exists():
        adapter_files.sort_config(beside)
    run_folder.replace_folder(beside, directory, keep=adapter_files.FILES if is_adapter else ())


def write_probe(
    plan: TrainPlan, folder: Path, groups: Sequence[TrainingGroup], trainer: Any, sha256: str
) -> None:
    """Write a trained adapter's probe to the run's folder: log-probabilities to check a server with.

    They belong to continuations of the shortest prompts of `groups`. `sha256` is the hash of the adapter's files.
    """
    template = prompt_template.load(plan.prompt.template)
    tokenizer = model_loading.load_tokenizer(plan)
    tokens = read_special_tokens(tokenizer)
    prompts = [
        tokenization.tokenize_prompt(
            tokenizer, verifier_prompts.render_group(template, group, tokens)
        )
        for group in groups
    ]
    model = trainer.accelerator.unwrap_model(trainer.model)
    if trainer.is_fsdp_enabled:  # each process has a piece, and only this one asks
        model = PeftModel.from_pretrained(
            model_loading.load_causal_model(plan), str(folder / run_folder.ADAPTER)
        )
    # The shortest prompts: a probe costs every server start.
    measured = adapter_probe.measure_probe(
        model, sorted(prompts, key=len)[:_PROBED_PROMPTS], sha256
    )
    run_folder.write_file(folder / run_folder.PROBE, run_folder.format_json(measured))
