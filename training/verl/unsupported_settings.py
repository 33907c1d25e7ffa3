"""What verl 0.9 can't do as a plan says: each a rule with its fix, and none is passed over (pure)."""

from collections.abc import Callable
from operator import attrgetter
from typing import Final

from training.datasets.schedule import steps_of_round
from training.plans import validation
from training.plans.plan import (
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

DTYPES: Final = {"bfloat16": "bf16", "float32": "fp32"}
"""Of weights, in verl's words."""
_SCHEDULES: Final = ("constant", "cosine")
_WHOLE = (
    "give a multiple of a round's steps, rollout.prompts / optimiser.batch x rollout.passes; "
    "verl saves, warms up and ends between rounds"
)
_Rule = tuple[str, Callable[[TrainPlan], bool], str]
_RULES: Final[tuple[_Rule, ...]] = (
    ("trainer", lambda one: one.trainer is not Trainer.GRPO, 'verl is given "grpo" alone'),
    (
        "rollout.task",
        lambda one: one.rollout.task is not Task.JUDGE,
        'give "judge"; agents are trained with TRL',
    ),
    (
        "rollout.engine",
        lambda one: one.rollout.engine is not Engine.COLOCATED,
        'give "colocated"; verl runs vLLM on the GPUs it trains on',
    ),
    (
        "policy.overlong",
        lambda one: one.policy.overlong is not Overlong.KEEP,
        'give "keep"; verl 0.9 can\'t leave cut-off replies out of the loss',
    ),
    (
        "policy.ratio_ceiling",
        lambda one: (one.policy.ratio_ceiling or 0) <= 1 + one.policy.clip_high,
        "give more than 1 + policy.clip_high; verl always has one, and below that TRL and verl differ",
    ),
    (
        "policy.entropy_bonus",
        lambda one: bool(one.policy.entropy_bonus) and one.policy.loss is not Loss.TOKEN_MEAN,
        'give 0, or policy.loss = "token-mean"; verl averages both alike',
    ),
    (
        "policy.importance_ceiling",
        lambda one: _corrects(one.policy) and one.policy.importance_ceiling is None,
        "give a number; verl has no correction without one",
    ),
    (
        "model.adapter",
        lambda one: bool(one.model.adapter),
        "leave it out; an export begins with an adapter of its own. TRL goes on with one",
    ),
    (
        "adapter.dropout",
        lambda one: one.adapter is not None and bool(one.adapter.dropout),
        "give 0; verl's adapters have none",
    ),
    (
        "optimiser.schedule",
        lambda one: one.optimiser.schedule not in _SCHEDULES,
        f"give one of {', '.join(_SCHEDULES)}",
    ),
    (
        "optimiser.batch",
        lambda one: one.rollout.prompts % one.optimiser.batch != 0,
        "give a divisor of rollout.prompts",
    ),
    (
        "optimiser.batch",
        lambda one: one.optimiser.batch * one.rollout.replies % _ranks(one) != 0,
        "times rollout.replies it must be a multiple of the ranks that share a step",
    ),
    ("optimiser.warmup_steps", lambda one: _splits(one, one.optimiser.warmup_steps), _WHOLE),
    ("optimiser.max_steps", lambda one: _splits(one, one.optimiser.max_steps or 0), _WHOLE),
    ("checkpoints.every_steps", lambda one: _splits(one, one.checkpoints.every_steps), _WHOLE),
    (
        "scale.sequence_parallel",
        lambda one: one.scale.processes * one.scale.nodes % one.scale.sequence_parallel != 0,
        "give a divisor of all processes",
    ),
    (
        "scale.rollout_tensor_parallel",
        lambda one: one.scale.processes % one.scale.rollout_tensor_parallel != 0,
        "give a divisor of scale.processes",
    ),
)


def check(plan: TrainPlan) -> None:
    """Raises BadPlan with everything that verl can't honour."""
    faults = [
        f"{key} = {attrgetter(key)(plan)}: {fix}" for key, breaks, fix in _RULES if breaks(plan)
    ]
    faults += validation.objections(plan)
    if faults:
        raise BadPlan(f"plan {plan.name} can't be exported to verl: {'; '.join(faults)}")


def _splits(plan: TrainPlan, steps: int) -> bool:
    """Whether so many steps end within a round."""
    return steps % max(1, steps_of_round(plan)) != 0


def _corrects(policy: Policy) -> bool:
    return policy.importance is not Importance.OFF


def _ranks(plan: TrainPlan) -> int:
    """How many processes share the replies of a step; those of one sequence are one."""
    return max(1, plan.scale.nodes * plan.scale.processes // plan.scale.sequence_parallel)
