"""Check before training whether the bot could serve the plan's result."""

from collections.abc import Iterator
from pathlib import Path

from model.adapters import adapter_files
from training.plans.plan import (
    BadPlan,
    LoraSettings,
    RolloutEngine,
    RolloutTask,
    TrainingMethod,
    TrainPlan,
)
from training.trl import grpo_config


def require_servable_plan(plan: TrainPlan, material: Path | None) -> None:
    """Raise BadPlan with every reason why the bot could not serve the model that the plan trains.

    `material` is the file that the plan learns from besides groups, or None.
    """
    if plan.adapter is None or plan.trainer == TrainingMethod.REWARD_MODEL:
        raise BadPlan(
            f"{plan.name} trains no adapter for judging, and the bot serves nothing else; name a plan with"
            " [adapter], such as r4p-qwen2.5-coder-0.5b (R4P_TRAIN_PLAN)"
        )
    if faults := [
        *_list_adapter_objections(plan.adapter),
        *_list_source_objections(plan, material),
    ]:
        raise BadPlan(f"{plan.name} would train no model for judging: {'; '.join(faults)}")
    grpo_config.check_plan(plan, plan.scale.nodes * plan.scale.processes)


def _list_adapter_objections(adapter: LoraSettings) -> Iterator[str]:
    config = {"peft_type": "LORA", "r": adapter.rank, "target_modules": list(adapter.targets)}
    yield from adapter_files.find_config_objections(config)


def _list_source_objections(plan: TrainPlan, material: Path | None) -> Iterator[str]:
    from_attempts = plan.trainer == TrainingMethod.SFT and plan.supervised.task == "attempts"
    if (plan.trainer == TrainingMethod.DPO or from_attempts) and material is None:
        yield (
            'it learns from attempts: set R4P_TRAIN_RUN_ARGS="--material FILE" to what r4p train attempts wrote'
        )
    if plan.trainer != TrainingMethod.GRPO:
        return
    if plan.rollout.task == RolloutTask.REPAIR and material is None:
        yield 'it has an agent resolve issues: set R4P_TRAIN_RUN_ARGS="--material FILE" to their tasks'
    if plan.rollout.task == RolloutTask.IMITATE:
        yield 'rollout.task = "imitate" trains a model that repairs; train it by hand'
    if plan.rollout.task == RolloutTask.REPAIR and not plan.reward.url:
        yield "reward.url is empty: name the server of the verifier that judges the patches"
    if plan.rollout.engine == RolloutEngine.SERVER and not plan.rollout.url:
        yield 'rollout.url is empty: set R4P_TRAIN_RUN_ARGS="--engine-url URL" to a vLLM server'
