"""Whether something could come of a plan that judges: asked before data is gathered, and before anything is computed."""

from collections.abc import Iterator
from pathlib import Path

from model.adapters import adapter_files
from training.plans.plan import BadPlan, Engine, Lora, Task, Trainer, TrainPlan
from training.trl import grpo_config


def require(plan: TrainPlan, material: Path | None) -> None:
    """Raises BadPlan with all that stands against it. `material`: what it learns from besides groups."""
    if plan.adapter is None or plan.trainer == Trainer.REWARD_MODEL:
        raise BadPlan(
            f"{plan.name} makes no adapter that judges, and nothing else is served by the bot; name a plan with"
            " [adapter], such as r4p-qwen2.5-coder-0.5b (R4P_TRAIN_PLAN)"
        )
    if faults := [*_of_adapter(plan.adapter), *_of_sources(plan, material)]:
        raise BadPlan(f"no model that judges would come of {plan.name}: {'; '.join(faults)}")
    grpo_config.check(plan, plan.scale.nodes * plan.scale.processes)


def _of_adapter(adapter: Lora) -> Iterator[str]:
    config = {"peft_type": "LORA", "r": adapter.rank, "target_modules": list(adapter.targets)}
    yield from adapter_files.objections_to(config)


def _of_sources(plan: TrainPlan, material: Path | None) -> Iterator[str]:
    if plan.trainer == Trainer.DPO and material is None:
        yield (
            'it learns from attempts: set R4P_TRAIN_RUN_ARGS="--material FILE" to what r4p train attempts wrote'
        )
    if plan.trainer != Trainer.GRPO:
        return
    if plan.rollout.task == Task.REPAIR and material is None:
        yield 'it has an agent resolve issues: set R4P_TRAIN_RUN_ARGS="--material FILE" to their tasks'
    if plan.rollout.task == Task.REPAIR and not plan.reward.url:
        yield "reward.url is empty: name the server of the verifier that judges the patches"
    if plan.rollout.engine == Engine.SERVER and not plan.rollout.url:
        yield 'rollout.url is empty: set R4P_TRAIN_RUN_ARGS="--engine-url URL" to a vLLM server'
