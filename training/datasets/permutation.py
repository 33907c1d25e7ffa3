"""The order in which a group's patches are shown, another one in each epoch (pure)."""

import random
from dataclasses import replace

from training.datasets.groups import TrainingGroup


def permuted(group: TrainingGroup, seed: int, epoch: int) -> TrainingGroup:
    """The group in the order of that epoch: a seat must say nothing about a patch."""
    order = list(range(len(group.patches)))
    random.Random(f"{seed} {epoch} {group.key}").shuffle(order)
    return replace(
        group,
        patches=tuple(group.patches[seat] for seat in order),
        targets=tuple(group.targets[seat] for seat in order),
    )
