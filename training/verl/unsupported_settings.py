"""List the plan settings that verl 0.9 cannot follow, each with its fix (pure)."""

from collections.abc import Callable
from operator import attrgetter
from typing import Final

from training.datasets.schedule import count_steps_per_round
from training.plans import validation
from training.plans.plan import (
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

DTYPES: Final = {"bfloat16": "bf16", "float32": "fp32"}
"""Weight types in verl's words."""
_SCHEDULES: Final = ("constant", "cosine")
_WHOLE = (
    "give a multiple of a round's steps, rollout.prompts / optimiser.batch x rollout.passes; "
    "verl saves, warms up and ends between rounds"
)
_Rule = tuple[str, Callable[[TrainPlan], bool], str]
_RULES: Final[tuple[_Rule, ...]] = (
    ("trainer", lambda plan: plan.trainer is not TrainingMethod.GRPO, 'verl is given "grpo" alone'),
    (
        "rollout.task",
        lambda plan: plan.rollout.task is not RolloutTask.JUDGE,
        'give "judge"; agents and imitations are trained with TRL',
    ),
    (
        "rollout.engine",
        lambda plan: plan.rollout.engine is not RolloutEngine.COLOCATED,
        'give "colocated"; verl runs vLLM on the GPUs it trains on',
    ),
    (
        "policy.overlong",
        lambda plan: plan.policy.overlong is not OverlongHandling.KEEP,
        'give "keep"; verl 0.9 can\'t leave cut-off replies out of the loss',
    ),
    (
        "policy.ratio_ceiling",
        lambda plan: (plan.policy.ratio_ceiling or 0) <= 1 + plan.policy.clip_high,
        "give more than 1 + policy.clip_high; verl always has one, and below that TRL and verl differ",
    ),
    (
        "policy.entropy_bonus",
        lambda plan: (
            bool(plan.policy.entropy_bonus) and plan.policy.loss is not LossAggregation.TOKEN_MEAN
        ),
        'give 0, or policy.loss = "token-mean"; verl averages both alike',
    ),
    (
        "policy.importance_ceiling",
        lambda plan: _has_correction(plan.policy) and plan.policy.importance_ceiling is None,
        "give a number; verl has no correction without one",
    ),
    (
        "model.adapter",
        lambda plan: bool(plan.model.adapter),
        "leave it out; an export begins with an adapter of its own. TRL goes on with one",
    ),
    (
        "adapter.dropout",
        lambda plan: plan.adapter is not None and bool(plan.adapter.dropout),
        "give 0; verl's adapters have none",
    ),
    (
        "optimiser.schedule",
        lambda plan: plan.optimiser.schedule not in _SCHEDULES,
        f"give one of {', '.join(_SCHEDULES)}",
    ),
    (
        "optimiser.batch",
        lambda plan: plan.rollout.prompts % plan.optimiser.batch != 0,
        "give a divisor of rollout.prompts",
    ),
    (
        "optimiser.batch",
        lambda plan: plan.optimiser.batch * plan.rollout.replies % _count_ranks(plan) != 0,
        "times rollout.replies it must be a multiple of the ranks that share a step",
    ),
    (
        "optimiser.warmup_ratio",
        lambda plan: plan.optimiser.warmup_ratio > 0,
        "give optimiser.warmup_steps",
    ),
    (
        "optimiser.warmup_steps",
        lambda plan: _splits_round(plan, plan.optimiser.warmup_steps),
        _WHOLE,
    ),
    (
        "optimiser.max_steps",
        lambda plan: _splits_round(plan, plan.optimiser.max_steps or 0),
        _WHOLE,
    ),
    (
        "checkpoints.every_steps",
        lambda plan: _splits_round(plan, plan.checkpoints.every_steps),
        _WHOLE,
    ),
    (
        "scale.sequence_parallel",
        lambda plan: plan.scale.processes * plan.scale.nodes % plan.scale.sequence_parallel != 0,
        "give a divisor of all processes",
    ),
    (
        "scale.rollout_tensor_parallel",
        lambda plan: plan.scale.processes % plan.scale.rollout_tensor_parallel != 0,
        "give a divisor of scale.processes",
    ),
)


def check_supported(plan: TrainPlan) -> None:
    """Raise BadPlan with every setting of a plan that verl cannot follow."""
    faults = [
        f"{key} = {attrgetter(key)(plan)}: {fix}" for key, breaks, fix in _RULES if breaks(plan)
    ]
    faults += validation.list_objections(plan)
    if faults:
        raise BadPlan(f"plan {plan.name} can't be exported to verl: {'; '.join(faults)}")


def _splits_round(plan: TrainPlan, steps: int) -> bool:
    """Tell whether this many steps end within a round."""
    return steps % max(1, count_steps_per_round(plan)) != 0


def _has_correction(policy: PolicySettings) -> bool:
    return policy.importance is not ImportanceCorrection.OFF


def _count_ranks(plan: TrainPlan) -> int:
    """Return how many processes share the replies of a step. Processes of one sequence count as one."""
    return max(1, plan.scale.nodes * plan.scale.processes // plan.scale.sequence_parallel)
