"""Which groups an epoch shows, in which order, and who sits where (pure)."""

import random
from collections.abc import Sequence

from training.datasets.groups import TrainingGroup
from training.datasets.permutation import permuted


def drawn(groups: Sequence[TrainingGroup], seed: int, epoch: int) -> list[TrainingGroup]:
    """One epoch: a group of weight 0.5 in every second one, one of weight 2 twice; patches in this epoch's order."""
    rng = random.Random(f"{seed} {epoch}")
    found = [
        permuted(one, seed + copy, epoch)
        for one in groups
        for copy in range(int(one.weight) + (rng.random() < one.weight % 1))
    ]
    rng.shuffle(found)
    return found
