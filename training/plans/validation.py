"""Find contradictions in a plan that no engine could follow (pure).

A setting that the plan's method ignores must keep its default, so that nobody relies on it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Final

from training.plans.plan import (
    ImportanceCorrection,
    RolloutEngine,
    RolloutTask,
    TrainingMethod,
    TrainPlan,
)

_Condition = tuple[tuple[str, ...], Callable[[TrainPlan], bool], str]
_CONDITIONS: Final[tuple[_Condition, ...]] = (
    (
        ("prompt.max_tokens", "rollout", "policy", "reward", "scale.rollout_tensor_parallel"),
        lambda plan: plan.trainer is TrainingMethod.GRPO,
        'trainer = "grpo"',
    ),
    (("supervised",), lambda plan: plan.trainer is TrainingMethod.SFT, 'trainer = "sft"'),
    (
        ("supervised.trajectories",),
        lambda plan: plan.supervised.task == "yes-no",
        'supervised.task = "yes-no"',
    ),
    (
        ("supervised.share",),
        lambda plan: plan.supervised.task == "attempts",
        'supervised.task = "attempts"',
    ),
    (
        ("pairs.beta", "pairs.flip_rate"),
        lambda plan: plan.trainer is TrainingMethod.DPO,
        'trainer = "dpo"',
    ),
    (
        ("pairs.margin",),
        lambda plan: plan.trainer is TrainingMethod.REWARD_MODEL,
        'trainer = "reward-model"',
    ),
    (
        ("pairs.max_tokens",),
        lambda plan: plan.trainer in (TrainingMethod.DPO, TrainingMethod.REWARD_MODEL),
        'trainer = "dpo" or "reward-model"',
    ),
    (
        ("rollout.url", "rollout.api_key_file"),
        lambda plan: plan.rollout.engine is RolloutEngine.SERVER,
        'rollout.engine = "server"',
    ),
    (
        ("rollout.gpu_memory", "scale.rollout_tensor_parallel"),
        lambda plan: plan.rollout.engine is RolloutEngine.COLOCATED,
        'rollout.engine = "colocated"',
    ),
    (
        ("rollout.max_turns", "rollout.turn_tokens", "reward"),
        lambda plan: plan.rollout.task is RolloutTask.REPAIR,
        'rollout.task = "repair"',
    ),
    (
        ("rollout.imitation",),
        lambda plan: plan.rollout.task is RolloutTask.IMITATE,
        'rollout.task = "imitate"',
    ),
    (
        ("policy.importance_ceiling",),
        lambda plan: plan.policy.importance is not ImportanceCorrection.OFF,
        "another policy.importance than off",
    ),
)
"""Sections and keys that only some plans have read, and which do; all others are read by every trainer."""
_MAJORITY_VERIFIERS: Final = ("r4p", "pointwise")
"""Verifiers whose every vote calls each patch that it shows correct or incorrect."""
_GROUP: Final = ("r4p_group", "r4p_appendix_b")
"""Templates that ask for the box about a group."""
_SHIPPED_NAME = re.compile(r"[a-z0-9_]+")
"""A template that comes with the bot; anything else is the path of a file."""


def list_objections(plan: TrainPlan) -> Iterator[str]:
    """Yield every contradiction between a plan's settings, as a text with key, value and fix."""
    yield from _list_unused(plan)
    yield from _list_template_objections(plan)
    if plan.optimiser.warmup_steps and plan.optimiser.warmup_ratio:
        yield (
            f"optimiser.warmup_ratio = {plan.optimiser.warmup_ratio} beside warmup_steps = "
            f"{plan.optimiser.warmup_steps}: give one of them"
        )
    if plan.reward.binary and plan.reward.verifier not in _MAJORITY_VERIFIERS:
        yield (
            f"reward.binary = true needs votes on each patch, and reward.verifier = {plan.reward.verifier!r} has none; "
            f"use {' or '.join(_MAJORITY_VERIFIERS)}, or binary = false"
        )


def list_sequence_limits(plan: TrainPlan) -> dict[str, int]:
    """Return the plan settings, by key, whose sum limits a training sequence. The values are tokens."""
    match plan.trainer:
        case TrainingMethod.GRPO:
            return {
                "prompt.max_tokens": plan.prompt.max_tokens,
                "rollout.max_tokens": plan.rollout.max_tokens,
            }
        case TrainingMethod.SFT:
            return {"supervised.max_tokens": plan.supervised.max_tokens}
    return {"pairs.max_tokens": plan.pairs.max_tokens}


def _list_unused(plan: TrainPlan) -> Iterator[str]:
    plain = TrainPlan(plan.name, plan.trainer, plan.model)
    for section in ("prompt", "rollout", "policy", "supervised", "pairs", "reward", "scale"):
        settings, default = getattr(plan, section), getattr(plain, section)
        for name in (field.name for field in fields(settings)):
            value, key = getattr(settings, name), f"{section}.{name}"
            if value != getattr(default, name) and (
                condition := _find_missing_condition(plan, key)
            ):
                yield f"{key} = {value} has an effect only with {condition}; remove it"


def _find_missing_condition(plan: TrainPlan, key: str) -> str | None:
    """Return what the plan must contain for this key to be used. None: the key is used."""
    whose = (key, key.partition(".")[0])
    of_key = (reader for reader in _CONDITIONS if set(whose) & set(reader[0]))
    return next((condition for _, reads, condition in of_key if not reads(plan)), None)


def _list_template_objections(plan: TrainPlan) -> Iterator[str]:
    template, shipped, may_be_a_file = plan.prompt.template, *_list_templates(plan)
    if template in shipped or (may_be_a_file and not _SHIPPED_NAME.fullmatch(template)):
        return
    another = ", or a file of your own" if may_be_a_file else ""
    fix = f"{' or '.join(map(repr, shipped))}{another}"
    yield f"prompt.template = {template!r} does not match what this plan trains; give {fix}"


def _list_templates(plan: TrainPlan) -> tuple[tuple[str, ...], bool]:
    """Return the shipped templates that match the plan, and whether a file may replace them."""
    if plan.trainer is TrainingMethod.GRPO:
        of_rollouts = {
            RolloutTask.JUDGE: (_GROUP, True),
            RolloutTask.REPAIR: (("mini_se",), False),
            RolloutTask.IMITATE: (("swe_rl_repair",), True),
        }
        return of_rollouts[plan.rollout.task]
    if plan.trainer is TrainingMethod.SFT:
        of_tasks = {"boxed": _GROUP, "yes-no": ("yes_no",), "attempts": ("mini_se",)}
        return of_tasks[plan.supervised.task], True
    return ("yes_no" if plan.trainer is TrainingMethod.REWARD_MODEL else "mini_se",), True
