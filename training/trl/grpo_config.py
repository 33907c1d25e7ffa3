"""A plan as TRL's settings (TRL 1.16, `GRPOConfig`). Every setting that changes what is learnt is written out."""

from collections.abc import Iterator
from typing import Any

from training.datasets.schedule import steps_of_round
from training.plans import validation
from training.plans.plan import (
    Advantage,
    BadPlan,
    Engine,
    Importance,
    Loss,
    Overlong,
    Policy,
    Task,
    Trainer,
    TrainPlan,
)

_LOSSES = {
    Loss.TOKEN_MEAN: "dapo",
    Loss.CONSTANT_LENGTH: "dr_grpo",
    Loss.SEQUENCE_MEAN: "grpo",
}


def policy(plan: TrainPlan, processes: int) -> dict[str, Any]:
    """What `GRPOConfig` is told besides what all of TRL's trainers are. Raises BadPlan with every objection."""
    check(plan, processes)
    loss, at_once = plan.policy, plan.optimiser.micro_batch * processes
    return {
        "num_generations": plan.rollout.replies,
        "steps_per_generation": plan.rollout.prompts * plan.rollout.replies // at_once,
        "gradient_accumulation_steps": plan.optimiser.batch * plan.rollout.replies // at_once,
        "num_iterations": plan.rollout.passes,
        "num_train_epochs": 1,  # all epochs are laid out in the rows
        "shuffle_dataset": False,
        "save_steps": _between_rounds(plan),
        "max_completion_length": plan.rollout.max_tokens,
        "temperature": plan.rollout.temperature,
        "top_p": plan.rollout.top_p,
        "top_k": 0,
        "min_p": None,
        "repetition_penalty": 1.0,
        "beta": loss.kl,
        "entropy_coef": loss.entropy_bonus,
        "epsilon": loss.clip_low,
        "epsilon_high": loss.clip_high,
        "delta": loss.ratio_ceiling,
        "loss_type": _LOSSES[loss.loss],
        "scale_rewards": "group" if loss.advantage == Advantage.GRPO else "none",
        "importance_sampling_level": "token",
        "mask_truncated_completions": loss.overlong == Overlong.MASK,
        "remove_unused_columns": False,
        "ddp_find_unused_parameters": False,
        **_engine(plan),
    }


def check(plan: TrainPlan, processes: int) -> None:
    """Raises BadPlan with every objection to training by this plan, whatever its trainer, in so many processes."""
    if faults := list(objections(plan, processes)):
        raise BadPlan(f"plan {plan.name} can't be followed by TRL: " + "; ".join(faults))


def objections(plan: TrainPlan, processes: int) -> Iterator[str]:
    """Every reason why TRL can't do what the plan says, each with its key, value and fix."""
    yield from validation.objections(plan)
    yield from _of_machines(plan, processes)
    if plan.trainer == Trainer.GRPO:
        yield from _of_sizes(plan, processes)
        yield from _of_sampling(plan)
        yield from _of_importance(plan)
        yield from _of_policy(plan.policy)


def _of_machines(plan: TrainPlan, processes: int) -> Iterator[str]:
    scale, batch = plan.scale, plan.optimiser.batch
    # a plan for one process may be run by several: its batches are those of all together
    if (wanted := scale.nodes * scale.processes) not in {1, processes}:
        yield (
            f"scale.nodes x scale.processes = {wanted}, and {processes} run: start as many by accelerate launch, or "
            "say in the plan how many there are"
        )
    if scale.sequence_parallel > 1:
        yield f"scale.sequence_parallel = {scale.sequence_parallel}: TRL is told of none; use verl, or 1"
    if processes % scale.rollout_tensor_parallel:
        yield (
            f"scale.rollout_tensor_parallel = {scale.rollout_tensor_parallel}: give a divisor of all {processes} "
            "processes"
        )
    if scale.nodes > 1 and plan.rollout.engine == Engine.COLOCATED:
        yield f"scale.nodes = {scale.nodes}: a colocated vLLM stays on one node; use verl, or 1"
    if plan.trainer != Trainer.GRPO and batch % (plan.optimiser.micro_batch * processes):
        yield (
            f"optimiser.batch = {batch} is no multiple of optimiser.micro_batch = {plan.optimiser.micro_batch} in each "
            f"of {processes} processes: make it one"
        )


def _of_sizes(plan: TrainPlan, processes: int) -> Iterator[str]:
    prompts, replies = plan.rollout.prompts, plan.rollout.replies
    batch, at_once = plan.optimiser.batch, plan.optimiser.micro_batch * processes
    if prompts % batch:
        yield f"rollout.prompts = {prompts} is no multiple of optimiser.batch = {batch}: make it one"
    if prompts % processes:
        yield (
            f"rollout.prompts = {prompts} is no multiple of {processes} processes: the replies to one prompt "
            f"have to stay in one process"
        )
    if batch * replies % at_once:
        yield (
            f"optimiser.batch x rollout.replies = {batch * replies} is no multiple of {at_once} replies that go "
            f"through the model at once (optimiser.micro_batch = {plan.optimiser.micro_batch}, {processes} processes)"
        )


def _of_sampling(plan: TrainPlan) -> Iterator[str]:
    if plan.rollout.top_p < 1:
        yield f"rollout.top_p = {plan.rollout.top_p}: the ratio of a truncated distribution is biased; use 1"
    if plan.rollout.task == Task.REPAIR and plan.rollout.engine == Engine.SERVER:
        yield "rollout.engine = 'server': an agent's turns are drawn in the trainer's process; use colocated"


def _of_policy(policy: Policy) -> Iterator[str]:
    highest = 1 + policy.clip_high
    if policy.ratio_ceiling is not None and policy.ratio_ceiling <= highest:
        yield f"policy.ratio_ceiling = {policy.ratio_ceiling}: give more than 1 + policy.clip_high = {highest:g}"
    if policy.drop_uniform_groups:
        yield "policy.drop_uniform_groups = true: TRL keeps groups of equal rewards; use verl, or false"


def _of_importance(plan: TrainPlan) -> Iterator[str]:
    mode, ceiling = plan.policy.importance, plan.policy.importance_ceiling
    if mode == Importance.OFF:
        return
    if plan.rollout.task == Task.REPAIR:
        yield f"policy.importance = {mode.value}: nobody tells how likely an agent's turns were; use off"
    if plan.rollout.engine == Engine.TRANSFORMERS:
        yield f"policy.importance = {mode.value}: the trainer's own model samples; use off"
    if ceiling is None:
        yield f"policy.importance = {mode.value} needs policy.importance_ceiling, 2.0 for instance"


def _engine(plan: TrainPlan) -> dict[str, Any]:
    """VLLM's settings where it runs inside the trainer; never TRL's default of weighing whole sequences."""
    if plan.rollout.engine != Engine.COLOCATED:
        return {"use_vllm": False, "vllm_importance_sampling_correction": False}
    told = {
        "use_vllm": True,
        "vllm_mode": "colocate",
        "vllm_tensor_parallel_size": plan.scale.rollout_tensor_parallel,
        "vllm_gpu_memory_utilization": plan.rollout.gpu_memory,
        "vllm_max_model_length": plan.prompt.max_tokens + plan.rollout.max_tokens,
        "vllm_enable_sleep_mode": True,
        "vllm_importance_sampling_correction": plan.policy.importance != Importance.OFF,
    }
    if plan.policy.importance != Importance.OFF:
        told["vllm_importance_sampling_mode"] = plan.policy.importance.value.replace("-", "_")
        told["vllm_importance_sampling_clip_max"] = plan.policy.importance_ceiling
    return told


def _between_rounds(plan: TrainPlan) -> int:
    """Steps between checkpoints: whole rounds, since replies that were drawn are not kept."""
    of_round = steps_of_round(plan)
    return -(-plan.checkpoints.every_steps // of_round) * of_round
