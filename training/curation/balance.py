"""Balance groups by their number of correct patches, so that no constant answer earns a reward (pure).

If a quarter of all patches is correct, an empty box is right three times out of four. A verifier would learn to
answer that.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum

from training.datasets.groups import TrainingGroup

_Class = tuple[int, int]
"""Numbers of (correct, incorrect) patches in a group."""


class Balance(StrEnum):
    """How a dataset is balanced by the number of correct patches in its groups."""

    EVEN = "even"
    """Every number of correct patches occurs equally often (R4P, appendix B.1)."""
    MIRRORED = "mirrored"
    """(k correct, m incorrect) occurs as often as (m correct, k incorrect). Keeps more groups than `even`."""
    NONE = "none"


def balance_groups(
    groups: Sequence[TrainingGroup], balance: Balance, seed: int
) -> tuple[list[TrainingGroup], list[str]]:
    """Balance training groups by their number of correct patches.

    Returns the kept groups and a reason for each dropped group. Groups are balanced separately for each number of
    labels. The choice is random by `seed` and takes issues in turn, so that dropped groups spread over issues.
    """
    if balance is Balance.NONE:
        return list(groups), []
    classes: dict[_Class, list[TrainingGroup]] = defaultdict(list)
    for group in groups:
        classes[_count_labels(group)].append(group)
    wanted = _count_wanted({name: len(members) for name, members in classes.items()}, balance)
    kept = {
        group.key
        for name, members in classes.items()
        for group in _sample_groups(members, wanted[name], seed)
    }
    reasons = [
        "too many with so many correct patches"
        if wanted[_count_labels(group)]
        else "none with as many incorrect ones"
        for group in groups
        if group.key not in kept
    ]
    return [group for group in groups if group.key in kept], reasons


def _count_wanted(counts: dict[_Class, int], how: Balance) -> dict[_Class, int]:
    paired = {
        (correct, incorrect): min(count, counts.get((incorrect, correct), 0))
        for (correct, incorrect), count in counts.items()
    }
    if how is Balance.MIRRORED:
        return paired
    least: dict[int, int] = {}
    for name, count in paired.items():
        if count:
            least[sum(name)] = min(count, least.get(sum(name), count))
    return {name: least[sum(name)] if count else 0 for name, count in paired.items()}


def _sample_groups(groups: Sequence[TrainingGroup], count: int, seed: int) -> list[TrainingGroup]:
    by_issue: dict[str, list[TrainingGroup]] = defaultdict(list)
    for group in sorted(groups, key=lambda group: _hash_key(seed, group.key)):
        by_issue[group.issue].append(group)
    turns = [
        (turn, _hash_key(seed, issue), group)
        for issue, members in by_issue.items()
        for turn, group in enumerate(members)
    ]
    return [group for _, _, group in sorted(turns, key=lambda turn: turn[:2])[:count]]


def _count_labels(group: TrainingGroup) -> _Class:
    labelled = sum(target is not None for target in group.targets)
    return group.positives, labelled - group.positives


def _hash_key(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()
