"""What contradicts itself in a plan, whichever engine follows it: each with its key, value and fix (pure).

What nobody reads of a plan has to be at its default: of a setting that changes nothing it would be believed that it does.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Final

from training.plans.plan import Engine, Importance, Task, Trainer, TrainPlan

_Reader = tuple[tuple[str, ...], Callable[[TrainPlan], bool], str]
_READ: Final[tuple[_Reader, ...]] = (
    (
        ("prompt.max_tokens", "rollout", "policy", "reward", "scale.rollout_tensor_parallel"),
        lambda one: one.trainer is Trainer.GRPO,
        'trainer = "grpo"',
    ),
    (("supervised",), lambda one: one.trainer is Trainer.SFT, 'trainer = "sft"'),
    (("pairs.beta", "pairs.flip_rate"), lambda one: one.trainer is Trainer.DPO, 'trainer = "dpo"'),
    (
        ("pairs.margin",),
        lambda one: one.trainer is Trainer.REWARD_MODEL,
        'trainer = "reward-model"',
    ),
    (
        ("pairs.max_tokens",),
        lambda one: one.trainer in (Trainer.DPO, Trainer.REWARD_MODEL),
        'trainer = "dpo" or "reward-model"',
    ),
    (
        ("rollout.url", "rollout.api_key_file"),
        lambda one: one.rollout.engine is Engine.SERVER,
        'rollout.engine = "server"',
    ),
    (
        ("rollout.gpu_memory", "scale.rollout_tensor_parallel"),
        lambda one: one.rollout.engine is Engine.COLOCATED,
        'rollout.engine = "colocated"',
    ),
    (
        ("rollout.max_turns", "rollout.turn_tokens", "reward"),
        lambda one: one.rollout.task is Task.REPAIR,
        'rollout.task = "repair"',
    ),
    (
        ("policy.importance_ceiling",),
        lambda one: one.policy.importance is not Importance.OFF,
        "another policy.importance than off",
    ),
)
"""Sections and keys that only some plans have read, and which do; all others are read by every trainer."""
_OURS = re.compile(r"[a-z0-9_]+")
"""A template that comes with the bot; anything else is the path of a file."""


def objections(plan: TrainPlan) -> Iterator[str]:
    """All of it."""
    yield from _unread(plan)
    yield from _of_template(plan)


def longest(plan: TrainPlan) -> dict[str, int]:
    """The keys that bound a sequence, and the tokens that they allow together."""
    match plan.trainer:
        case Trainer.GRPO:
            return {
                "prompt.max_tokens": plan.prompt.max_tokens,
                "rollout.max_tokens": plan.rollout.max_tokens,
            }
        case Trainer.SFT:
            return {"supervised.max_tokens": plan.supervised.max_tokens}
    return {"pairs.max_tokens": plan.pairs.max_tokens}


def _unread(plan: TrainPlan) -> Iterator[str]:
    plain = TrainPlan(plan.name, plan.trainer, plan.model)
    for section in ("prompt", "rollout", "policy", "supervised", "pairs", "reward", "scale"):
        told, default = getattr(plan, section), getattr(plain, section)
        for name in (one.name for one in fields(told)):
            value, key = getattr(told, name), f"{section}.{name}"
            if value != getattr(default, name) and (by := _reader_missed(plan, key)):
                yield f"{key} = {value} is read with {by} alone; leave it out"


def _reader_missed(plan: TrainPlan, key: str) -> str | None:
    """What a plan would have to say for this key to be read; None: it is."""
    whose = (key, key.partition(".")[0])
    of_key = (one for one in _READ if set(whose) & set(one[0]))
    return next((by for _, reads, by in of_key if not reads(plan)), None)


def _of_template(plan: TrainPlan) -> Iterator[str]:
    template, ours, may_be_a_file = plan.prompt.template, *_asks(plan)
    if template == ours or (may_be_a_file and not _OURS.fullmatch(template)):
        return
    another = ", or a file of your own" if may_be_a_file else ""
    yield f"prompt.template = {template!r} asks for something else than is learnt; give {ours!r}{another}"


def _asks(plan: TrainPlan) -> tuple[str, bool]:
    """The template of ours whose answers a plan learns from, and whether a file may stand in for it."""
    if plan.trainer is Trainer.GRPO:
        return ("mini_se", False) if plan.rollout.task is Task.REPAIR else ("r4p_group", True)
    if plan.trainer is Trainer.SFT:
        return {"boxed": "r4p_group", "yes-no": "yes_no"}[plan.supervised.task], True
    return "yes_no" if plan.trainer is Trainer.REWARD_MODEL else "mini_se", True
