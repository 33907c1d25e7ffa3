"""As many groups with many correct patches as with few, so that no constant answer pays (pure).

Where a quarter of all patches is correct, an empty box is right three times out of four, and is what a verifier learns.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum

from training.datasets.groups import TrainingGroup

_Class = tuple[int, int]
"""Patches that are rather correct, and those that are rather not."""


class Balance(StrEnum):
    """What is made equal."""

    EVEN = "even"
    """Each number of correct patches is there equally often (R4P, appendix B.1)."""
    MIRRORED = "mirrored"
    """As many groups with one correct patch as with one incorrect, with none as with all: keeps more of them."""
    NONE = "none"


def balanced(
    groups: Sequence[TrainingGroup], how: Balance, seed: int
) -> tuple[list[TrainingGroup], list[str]]:
    """What is kept, and a reason for each that is not. Groups with equally many labels are balanced among themselves.

    Which groups of a class are kept is drawn, issue by issue in turns, so that none has more of them than it must.
    """
    if how is Balance.NONE:
        return list(groups), []
    classes: dict[_Class, list[TrainingGroup]] = defaultdict(list)
    for one in groups:
        classes[_class(one)].append(one)
    wanted = _wanted({name: len(found) for name, found in classes.items()}, how)
    kept = {one.key for name, found in classes.items() for one in _drawn(found, wanted[name], seed)}
    reasons = [
        "too many with so many correct patches"
        if wanted[_class(one)]
        else "none with as many incorrect ones"
        for one in groups
        if one.key not in kept
    ]
    return [one for one in groups if one.key in kept], reasons


def _wanted(counts: dict[_Class, int], how: Balance) -> dict[_Class, int]:
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


def _drawn(groups: Sequence[TrainingGroup], count: int, seed: int) -> list[TrainingGroup]:
    by_issue: dict[str, list[TrainingGroup]] = defaultdict(list)
    for one in sorted(groups, key=lambda one: _lot(seed, one.key)):
        by_issue[one.issue].append(one)
    turns = [
        (turn, _lot(seed, issue), one)
        for issue, found in by_issue.items()
        for turn, one in enumerate(found)
    ]
    return [one for _, _, one in sorted(turns, key=lambda each: each[:2])[:count]]


def _class(group: TrainingGroup) -> _Class:
    known = sum(target is not None for target in group.targets)
    return group.positives, known - group.positives


def _lot(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()
