"""Which groups are judged in which round of a training run, and in which order of seats (pure).

Epochs are laid out one after the other, each group in another order of patches. A trainer takes whole rounds only, and
would drop what does not fill one: the last round is filled up with the beginning of another epoch, and that is said.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from training.datasets import epochs
from training.datasets.groups import TrainingGroup
from training.plans.plan import TrainPlan


@dataclass(frozen=True, slots=True)
class Rounds:
    """What is asked, in order."""

    groups: tuple[TrainingGroup, ...]
    """A whole number of rounds."""
    filled: int
    """Groups at the end that are asked once more than planned."""
    rounds: int
    steps: int
    """Optimiser steps."""


def steps_of_round(plan: TrainPlan) -> int:
    """Optimiser steps between one drawing of replies and the next."""
    return plan.rollout.prompts // plan.optimiser.batch * plan.rollout.passes


def laid_out(groups: Sequence[TrainingGroup], plan: TrainPlan) -> Rounds:
    """Every round of a run. Raises ValueError where there is nothing to ask."""
    asked = [one for one in groups if one.weight > 0 and any(t is not None for t in one.targets)]
    if not asked:
        raise ValueError(
            f"none of {len(groups)} groups has a patch whose label is known; nothing can be learnt from them"
        )
    per_round, of_round = plan.rollout.prompts, steps_of_round(plan)
    drawn: list[TrainingGroup] = []
    for epoch in range(plan.optimiser.epochs):
        drawn += epochs.drawn(asked, plan.seed, epoch)
    rounds = max(1, -(-len(drawn) // per_round))
    if plan.optimiser.max_steps is not None:
        rounds = min(rounds, -(-plan.optimiser.max_steps // of_round))
    filled = max(0, rounds * per_round - len(drawn))
    more = _endless(asked, plan.seed, plan.optimiser.epochs)
    drawn += (next(more) for _ in range(filled))
    steps = min(rounds * of_round, plan.optimiser.max_steps or rounds * of_round)
    return Rounds(tuple(drawn[: rounds * per_round]), filled, rounds, steps)


def _endless(groups: Sequence[TrainingGroup], seed: int, epoch: int) -> Iterator[TrainingGroup]:
    while True:
        yield from epochs.drawn(groups, seed, epoch) or groups
        epoch += 1
