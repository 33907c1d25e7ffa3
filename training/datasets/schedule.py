"""Arrange the groups of a training run in rounds, with a seat order for each (pure).

Epochs follow one another, each with new seat orders. A trainer drops incomplete rounds, so groups of one more
epoch fill the last round. The schedule counts them.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from training.datasets.groups import TrainingGroup
from training.plans.plan import TrainPlan


@dataclass(frozen=True, slots=True)
class RoundSchedule:
    """The training groups of a run in the order of its sampling rounds."""

    groups: tuple[TrainingGroup, ...]
    """Groups of all rounds: `rounds` times the prompts of a round."""
    filled: int
    """Number of groups at the end that fill the last round."""
    rounds: int
    steps: int
    """Number of optimiser steps."""


def count_steps_per_round(plan: TrainPlan) -> int:
    """Return the number of optimiser steps that a plan trains on the replies of one round."""
    return plan.rollout.prompts // plan.optimiser.batch * plan.rollout.passes


def schedule_rounds(groups: Sequence[TrainingGroup], plan: TrainPlan) -> RoundSchedule:
    """Repeat and order `groups` for all sampling rounds of a plan.

    Raises ValueError if no group has a label and a positive weight.
    """
    usable = [
        group for group in groups if group.weight > 0 and any(t is not None for t in group.targets)
    ]
    if not usable:
        raise ValueError(
            f"none of {len(groups)} groups has a labelled patch; add labels before training"
        )
    per_round, steps_per_round = plan.rollout.prompts, count_steps_per_round(plan)
    scheduled: list[TrainingGroup] = []
    for epoch in range(plan.optimiser.epochs):
        scheduled += sample_epoch(usable, plan.seed, epoch)
    rounds = max(1, -(-len(scheduled) // per_round))
    if plan.optimiser.max_steps is not None:
        rounds = min(rounds, -(-plan.optimiser.max_steps // steps_per_round))
    filled = max(0, rounds * per_round - len(scheduled))
    extra = _repeat_epochs(usable, plan.seed, plan.optimiser.epochs)
    scheduled += (next(extra) for _ in range(filled))
    steps = min(rounds * steps_per_round, plan.optimiser.max_steps or rounds * steps_per_round)
    return RoundSchedule(tuple(scheduled[: rounds * per_round]), filled, rounds, steps)


def _repeat_epochs(
    groups: Sequence[TrainingGroup], seed: int, epoch: int
) -> Iterator[TrainingGroup]:
    while True:
        yield from sample_epoch(groups, seed, epoch) or groups
        epoch += 1


def sample_epoch(groups: Sequence[TrainingGroup], seed: int, epoch: int) -> list[TrainingGroup]:
    """Return the groups of epoch number `epoch`, shuffled, each with permuted patches. `seed` is that of the plan.

    A group's weight is its expected number of copies: weight 0.5 appears in half of the epochs, weight 2 twice
    in each.
    """
    rng = random.Random(f"{seed} {epoch}")
    sampled = [
        permute_patches(group, seed + copy, epoch)
        for group in groups
        for copy in range(int(group.weight) + (rng.random() < group.weight % 1))
    ]
    rng.shuffle(sampled)
    return sampled


def permute_patches(group: TrainingGroup, seed: int, epoch: int) -> TrainingGroup:
    """Return the group with its patches in the seat order of epoch number `epoch`, so that no seat reveals a label."""
    order = list(range(len(group.patches)))
    random.Random(f"{seed} {epoch} {group.key}").shuffle(order)
    return replace(
        group,
        patches=tuple(group.patches[seat] for seat in order),
        targets=tuple(group.targets[seat] for seat in order),
        trajectories=tuple(group.trajectories[seat] for seat in order if group.trajectories),
    )
