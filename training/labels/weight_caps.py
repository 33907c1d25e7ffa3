"""Cap the share of one person, one repository and one owner in a calibrator's fit or a dataset (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from model.evaluation.judgement_columns import Floats, Indices

_STEPS = 60
_LEAST_TOTAL = 1e-6
"""Caps that leave a smaller share of the weight count as impossible."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class LabelOrigin:
    """The origin of a label: a person, a repository and the account that owns the repository."""

    person: str | None
    """GitHub's id of the person who decided the label; None: the operator checked it by hand.

    Someone without an id, such as a CI, counts as a person of that one repository."""
    repository: int
    owner: int
    """Id of the installation. GitHub allows one installation of an App for each account."""


@dataclass(frozen=True, slots=True)
class ShareCaps:
    """The largest share of a fit's total weight; 1 means no cap."""

    person: float = 1.0
    """Largest share of the labels that one person decided, in all repositories together."""
    repository: float = 1.0
    """Largest share of one repository's labels."""
    owner: float = 1.0
    """Largest share of the labels in all repositories of one account."""


SHARED_CAPS = ShareCaps(person=0.01, repository=0.05, owner=0.05)
"""Caps of a fit on many owners' outcomes. They can hold with 100 persons and 20 owners at least."""
OWN_CAPS = ShareCaps(person=0.01)
"""Caps of a fit on the outcomes of one installation."""


def cap_weights(
    weights: Sequence[float], sources: Sequence[LabelOrigin], caps: ShareCaps
) -> list[float] | None:
    """Scale weights down until no source has more than its share of the sum of the new weights.

    Returns None when there are too few sources for these caps. `sources` has an item for each weight. A label without a
    person counts towards its repository and its owner only.
    """
    before = np.asarray(weights, dtype=np.float64)
    groups = [
        (_number_keys([source.person for source in sources]), caps.person),
        (_number_keys([source.repository for source in sources]), caps.repository),
        (_number_keys([source.owner for source in sources]), caps.owner),
    ]
    total = _find_total(before, groups)
    return None if total is None else [float(weight) for weight in _clip(before, groups, total)]


def cap_dataset_weights(weights: Sequence[float], sources: Sequence[LabelOrigin]) -> list[float]:
    """Scale the weights of a dataset's labels down to SHARED_CAPS.

    Where these cannot hold, one owner has at most twice the share of an equal part, and persons and repositories have
    no cap: an installation with a few maintainers trusts them. `sources` has an item for each weight.
    """
    capped = cap_weights(weights, sources, SHARED_CAPS)
    if capped is None:
        weighed = zip(weights, sources, strict=True)
        owners = {source.owner for weight, source in weighed if weight}
        capped = cap_weights(weights, sources, ShareCaps(owner=2 / max(len(owners), 2)))
    return list(weights) if capped is None else capped


def _find_total(weights: Floats, groups: Sequence[tuple[Indices, float]]) -> float | None:
    """Find the largest total T for which the weights, clipped to shares of T, still sum to T.

    `weights` has shape [labels]. Each item of `groups` is (numbers of shape [labels], share): labels with one number
    have one person, repository or owner. None: no T fits.

    The clipped sum is a concave function of T that is 0 at 0. It therefore reaches T below one total only, which
    bisection finds. Every share of the clipped sum then holds, because that sum is no smaller than T.
    """

    def is_reached(total: float) -> bool:
        return bool(_clip(weights, groups, total).sum() >= total * (1 - _ROUNDING))

    highest = float(weights.sum())
    if highest == 0 or is_reached(highest):
        return highest or None
    lowest = highest * _LEAST_TOTAL
    if not is_reached(lowest):
        return None
    for _ in range(_STEPS):
        middle = (lowest + highest) / 2
        lowest, highest = (middle, highest) if is_reached(middle) else (lowest, middle)
    return lowest


def _clip(weights: Floats, groups: Sequence[tuple[Indices, float]], total: float) -> Floats:
    """Scale down the labels of each number to their share of `total`. The result has the shape of `weights`."""
    for numbers, share in groups:
        sums = np.bincount(numbers, weights)  # [numbers]
        is_over = sums > share * total
        # The number 0 stands for labels without a key. They belong to no group, so their sum has no cap.
        is_over[0] = False
        # Divide by 1 where the sum is not over, because a sum may be 0.
        scales = np.where(is_over, share * total, 1.0) / np.where(is_over, sums, 1.0)
        weights = weights * scales[numbers]
    return weights


def _number_keys(keys: Sequence[object | None]) -> Indices:
    """Return a number from 1 for each key, equal for equal keys; None gets 0."""
    numbers: dict[object | None, int] = {None: 0}
    return np.asarray([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)
