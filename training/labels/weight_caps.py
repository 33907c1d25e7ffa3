"""How much one person and one repository may weigh among all labels (pure)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WeightCaps:
    """Maximum total weight of the labels by one person or CI, and of one repository."""

    actor: float = 50.0
    """For one person in one repository, or one CI."""
    repository: float = 500.0


CAPS = WeightCaps()


def cap_weights(
    labels: Sequence[tuple[float, str | None, int]], caps: WeightCaps = CAPS
) -> tuple[float, ...]:
    """Return the capped weights in input order. Each label is (weight, who decided, repository id).

    Labels over a cap are scaled down by the same factor. Labels without an actor only count towards the
    repository's cap.
    """
    people = [(repository, actor) if actor else None for _, actor, repository in labels]
    weights = _scale_weights([label[0] for label in labels], people, caps.actor)
    return tuple(_scale_weights(weights, [label[2] for label in labels], caps.repository))


def _scale_weights(
    weights: Sequence[float], owners: Sequence[object | None], most: float
) -> list[float]:
    total: dict[object, float] = defaultdict(float)
    for weight, owner in zip(weights, owners, strict=True):
        if owner is not None:
            total[owner] += weight
    return [
        weight if owner is None or total[owner] <= most else weight * most / total[owner]
        for weight, owner in zip(weights, owners, strict=True)
    ]
