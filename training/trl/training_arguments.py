"""What every one of TRL's trainers is told alike, from the plan; what is its own, its module adds."""

from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState

from training.plans.plan import BadPlan, TrainPlan


def common(plan: TrainPlan, folder: Path, *, each: int = 1) -> dict[str, Any]:
    """Settings of `transformers.TrainingArguments`. Raises BadPlan where batches don't fit.

    `each`: sequences that one of a batch is, the replies to a prompt for instance.
    """
    optimiser, on_cpu = plan.optimiser, not torch.cuda.is_available()
    return {
        "output_dir": str(folder),
        "seed": plan.seed,
        "data_seed": plan.seed,
        "learning_rate": optimiser.learning_rate,
        "lr_scheduler_type": _schedule(plan),
        "warmup_steps": optimiser.warmup_steps,
        "weight_decay": optimiser.weight_decay,
        "max_grad_norm": optimiser.max_gradient_norm,
        "max_steps": optimiser.max_steps or -1,
        "per_device_train_batch_size": optimiser.micro_batch,
        "gradient_accumulation_steps": _accumulated(plan, each),
        "gradient_checkpointing": plan.model.gradient_checkpointing,
        "bf16": plan.model.dtype == "bfloat16" and not on_cpu,
        "use_cpu": on_cpu,
        "save_strategy": "steps",
        "save_steps": plan.checkpoints.every_steps,
        "save_total_limit": max(
            2, plan.checkpoints.keep
        ),  # the last one, while the next isn't whole
        "logging_steps": 1,
        "logging_nan_inf_filter": False,  # a loss that is none must be seen
        "report_to": "none",
        "disable_tqdm": True,
    }


def _schedule(plan: TrainPlan) -> str:
    flat = plan.optimiser.schedule == "constant" and plan.optimiser.warmup_steps
    return "constant_with_warmup" if flat else plan.optimiser.schedule


def _accumulated(plan: TrainPlan, each: int) -> int:
    """How many micro batches of each process make one optimiser step. Raises BadPlan where they don't fit."""
    batch, micro = plan.optimiser.batch * each, plan.optimiser.micro_batch
    processes: int = PartialState().num_processes
    at_once = micro * processes
    if batch % at_once:
        raise BadPlan(
            f"optimiser.batch = {plan.optimiser.batch} makes {batch} sequences, no multiple of the {at_once} that go "
            f"through the model at once: {micro} (optimiser.micro_batch) in each of {processes} processes"
        )
    return batch // at_once
