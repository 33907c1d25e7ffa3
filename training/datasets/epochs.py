"""Sample the groups of each training epoch (pure)."""

import random
from collections.abc import Sequence

from training.datasets.groups import TrainingGroup
from training.datasets.permutation import permute_patches


def sample_epoch(groups: Sequence[TrainingGroup], seed: int, epoch: int) -> list[TrainingGroup]:
    """Return the groups of one epoch, shuffled, each with permuted patches.

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
