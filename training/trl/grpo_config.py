"""Render a plan as TRL's settings (TRL 1.16, `GRPOConfig`). Every setting that affects learning is explicit."""

from collections.abc import Iterator
from typing import Any

from training.datasets.schedule import count_steps_per_round
from training.plans import validation
from training.plans.plan import (
    AdvantageEstimator,
    BadPlan,
    ImportanceCorrection,
    LossAggregation,
    OverlongHandling,
    PolicySettings,
    RolloutEngine,
    RolloutTask,
    TrainingMethod,
    TrainPlan,
)

_LOSSES = {
    LossAggregation.TOKEN_MEAN: "dapo",
    LossAggregation.CONSTANT_LENGTH: "dr_grpo",
    LossAggregation.SEQUENCE_MEAN: "grpo",
}


def build_grpo_settings(plan: TrainPlan, processes: int) -> dict[str, Any]:
    """Return a plan's values for the settings that only TRL's `GRPOConfig` has, by name.

    `processes` is the number of training processes. Raises BadPlan with every reason why TRL cannot follow the plan.
    """
    check_plan(plan, processes)
    loss, at_once = plan.policy, plan.optimiser.micro_batch * processes
    return {
        "num_generations": plan.rollout.replies,
        # micro batches of one round, as TRL counts them
        "steps_per_generation": plan.rollout.prompts * plan.rollout.replies // at_once,
        # TRL's names count the batch in replies, ours in prompts
        "gradient_accumulation_steps": plan.optimiser.batch * plan.rollout.replies // at_once,
        "num_iterations": plan.rollout.passes,
        "num_train_epochs": 1,  # all epochs are laid out in the rows
        "shuffle_dataset": False,
        "save_steps": _count_save_steps(plan),
        "max_completion_length": plan.rollout.max_tokens,
        "temperature": plan.rollout.temperature,
        "top_p": plan.rollout.top_p,
        # no truncation of the sampling distribution: the loss needs the true probabilities
        "top_k": 0,
        "min_p": None,
        "repetition_penalty": 1.0,
        "beta": loss.kl,
        "entropy_coef": loss.entropy_bonus,
        "epsilon": loss.clip_low,
        "epsilon_high": loss.clip_high,
        "delta": loss.ratio_ceiling,
        # `dr_grpo` and `grpo` in TRL's loss, see `LossAggregation` for the formulas
        "loss_type": _LOSSES[loss.loss],
        "scale_rewards": "group" if loss.advantage == AdvantageEstimator.GRPO else "none",
        # TRL's sequence-level ratio (GSPO) is another objective than the plan's
        "importance_sampling_level": "token",
        # of an episode, `objective/episode_rewards.py` decides alone
        "mask_truncated_completions": loss.overlong == OverlongHandling.MASK
        and plan.rollout.task != RolloutTask.REPAIR,
        # our columns carry targets and seats to the reward function
        "remove_unused_columns": False,
        # every LoRA parameter takes part in each step, and the search costs time
        "ddp_find_unused_parameters": False,
        **_build_vllm_settings(plan),
    }


def check_plan(plan: TrainPlan, processes: int) -> None:
    """Raise BadPlan with every reason why TRL cannot follow the plan with `processes` training processes."""
    if faults := list(list_trl_objections(plan, processes)):
        raise BadPlan(f"plan {plan.name} can't be trained with TRL: " + "; ".join(faults))


def list_trl_objections(plan: TrainPlan, processes: int) -> Iterator[str]:
    """Yield every reason why TRL cannot follow the plan with `processes` training processes.

    A reason is a text with the setting's key, its value and the fix.
    """
    yield from validation.list_objections(plan)
    yield from _check_machines(plan, processes)
    if plan.trainer == TrainingMethod.GRPO:
        yield from _check_sizes(plan, processes)
        yield from _check_sampling(plan)
        yield from _check_importance(plan)
        yield from _check_policy(plan.policy)


def _check_machines(plan: TrainPlan, processes: int) -> Iterator[str]:
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
    if scale.nodes > 1 and plan.rollout.engine == RolloutEngine.COLOCATED:
        yield f"scale.nodes = {scale.nodes}: a colocated vLLM stays on one node; use verl, or 1"
    if plan.trainer != TrainingMethod.GRPO and batch % (plan.optimiser.micro_batch * processes):
        yield (
            f"optimiser.batch = {batch} is no multiple of optimiser.micro_batch = {plan.optimiser.micro_batch} in each "
            f"of {processes} processes: make it one"
        )


def _check_sizes(plan: TrainPlan, processes: int) -> Iterator[str]:
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


def _check_sampling(plan: TrainPlan) -> Iterator[str]:
    if plan.rollout.top_p < 1:
        yield f"rollout.top_p = {plan.rollout.top_p}: the ratio of a truncated distribution is biased; use 1"
    if plan.rollout.task == RolloutTask.REPAIR and plan.rollout.engine == RolloutEngine.SERVER:
        yield "rollout.engine = 'server': an agent's turns are drawn in the trainer's process; use colocated"


def _check_policy(policy: PolicySettings) -> Iterator[str]:
    highest = 1 + policy.clip_high
    if policy.ratio_ceiling is not None and policy.ratio_ceiling <= highest:
        yield f"policy.ratio_ceiling = {policy.ratio_ceiling}: give more than 1 + policy.clip_high = {highest:g}"
    if policy.drop_uniform_groups:
        yield "policy.drop_uniform_groups = true: TRL keeps groups of equal rewards; use verl, or false"


def _check_importance(plan: TrainPlan) -> Iterator[str]:
    mode, ceiling = plan.policy.importance, plan.policy.importance_ceiling
    if mode == ImportanceCorrection.OFF:
        return
    if plan.rollout.engine == RolloutEngine.TRANSFORMERS:
        yield f"policy.importance = {mode.value}: the trainer's own model samples; use off"
    if ceiling is None:
        yield f"policy.importance = {mode.value} needs policy.importance_ceiling, 2.0 for instance"


def _build_vllm_settings(plan: TrainPlan) -> dict[str, Any]:
    """Return the settings of a colocated vLLM. TRL's own correction is always off: ours weighs every engine's replies."""
    if plan.rollout.engine != RolloutEngine.COLOCATED:
        return {"use_vllm": False, "vllm_importance_sampling_correction": False}
    return {
        "use_vllm": True,
        "vllm_mode": "colocate",
        "vllm_tensor_parallel_size": plan.scale.rollout_tensor_parallel,
        "vllm_gpu_memory_utilization": plan.rollout.gpu_memory,
        "vllm_max_model_length": plan.prompt.max_tokens + plan.rollout.max_tokens,
        # Sleep mode frees the GPU memory of vLLM while the trainer needs it.
        "vllm_enable_sleep_mode": True,
        "vllm_importance_sampling_correction": False,
    }


def _count_save_steps(plan: TrainPlan) -> int:
    """Return the steps between checkpoints: whole rounds, because sampled replies are not saved."""
    of_round = count_steps_per_round(plan)
    return -(-plan.checkpoints.every_steps // of_round) * of_round
