"""Build the settings that all TRL trainers share."""

from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState

from training.plans.plan import BadPlan, TrainPlan


def build_common_arguments(
    plan: TrainPlan, folder: Path, *, sequences_per_example: int = 1
) -> dict[str, Any]:
    """Return a plan's values for `transformers.TrainingArguments`, by name. Checkpoints go to `folder`.

    `sequences_per_example` is the number of sequences of one example, such as the replies to a prompt. Raises BadPlan
    if the batch of a step cannot be divided evenly among the processes.
    """
    optimiser, on_cpu = plan.optimiser, not torch.cuda.is_available()
    return {
        "output_dir": str(folder),
        "seed": plan.seed,
        "data_seed": plan.seed,
        "learning_rate": optimiser.learning_rate,
        "lr_scheduler_type": _get_schedule(plan),
        # A number below 1 is a share of all steps, rounded up.
        "warmup_steps": optimiser.warmup_steps or optimiser.warmup_ratio,
        "weight_decay": optimiser.weight_decay,
        "max_grad_norm": optimiser.max_gradient_norm,
        "max_steps": optimiser.max_steps or -1,
        "per_device_train_batch_size": optimiser.micro_batch,
        "gradient_accumulation_steps": _count_accumulation(plan, sequences_per_example),
        "gradient_checkpointing": plan.model.gradient_checkpointing,
        "bf16": plan.model.dtype == "bfloat16" and not on_cpu,
        "use_cpu": on_cpu,
        "save_strategy": "steps",
        "save_steps": plan.checkpoints.every_steps,
        # The last one stays until the next is complete, so fewer than two would lose it.
        "save_total_limit": max(
            2, plan.checkpoints.keep
        ),  # the last one, while the next isn't whole
        "logging_steps": 1,
        "logging_nan_inf_filter": False,  # a loss that is none must be seen
        "report_to": "none",
        "disable_tqdm": True,
    }


def _get_schedule(plan: TrainPlan) -> str:
    # transformers' "constant" ignores warm-up steps.
    warm = plan.optimiser.warmup_steps or plan.optimiser.warmup_ratio
    flat = plan.optimiser.schedule == "constant" and warm
    return "constant_with_warmup" if flat else plan.optimiser.schedule


def _count_accumulation(plan: TrainPlan, each: int) -> int:
    """Return the micro batches of each process in one optimiser step. Raises BadPlan if sizes do not divide."""
    batch, micro = plan.optimiser.batch * each, plan.optimiser.micro_batch
    processes: int = PartialState().num_processes
    at_once = micro * processes
    if batch % at_once:
        raise BadPlan(
            f"optimiser.batch = {plan.optimiser.batch} makes {batch} sequences, not a multiple of the {at_once} that go "
            f"through the model at once: {micro} (optimiser.micro_batch) in each of {processes} processes"
        )
    return batch // at_once
