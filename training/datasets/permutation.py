"""Permute the seats of a group, differently in each epoch (pure)."""

import random
from dataclasses import replace

from training.datasets.groups import TrainingGroup


def permute_patches(group: TrainingGroup, seed: int, epoch: int) -> TrainingGroup:
    """Return the group in the seat order of that epoch, so that no seat reveals a label."""
    order = list(range(len(group.patches)))
    random.Random(f"{seed} {epoch} {group.key}").shuffle(order)
    return replace(
        group,
        patches=tuple(group.patches[seat] for seat in order),
        targets=tuple(group.targets[seat] for seat in order),
    )
