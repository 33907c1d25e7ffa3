"""How much one person and one repository may weigh among all labels (pure)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that labels decided by one weigh together, in labels of full weight."""

    actor: float = 50.0
    """By one person in one repository, or by one CI."""
    repository: float = 500.0


CAPS = Caps()


def capped(labels: Sequence[tuple[float, str | None, int]], caps: Caps = CAPS) -> tuple[float, ...]:
    """The weights, in order, so that nobody weighs more than the caps let them: (weight, who decided, repository).

    Whoever exceeds a cap loses the same share of every label; what nobody decided is capped by its repository alone.
    """
    people = [(repository, who) if who else None for _, who, repository in labels]
    weights = _scaled([one[0] for one in labels], people, caps.actor)
    return tuple(_scaled(weights, [one[2] for one in labels], caps.repository))


def _scaled(weights: Sequence[float], owners: Sequence[object | None], most: float) -> list[float]:
    total: dict[object, float] = defaultdict(float)
    for weight, owner in zip(weights, owners, strict=True):
        if owner is not None:
            total[owner] += weight
    return [
        weight if owner is None or total[owner] <= most else weight * most / total[owner]
        for weight, owner in zip(weights, owners, strict=True)
    ]
