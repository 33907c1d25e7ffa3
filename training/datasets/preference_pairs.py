"""Pairs of patches for one issue, the one rather correct, the other rather not (pure)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from training.datasets.groups import TrainingGroup


@dataclass(frozen=True, slots=True)
class Preference:
    """Two patches for one issue."""

    issue: str
    statement: str
    better: str
    worse: str
    margin: float
    """By how much the one is believed more often correct than the other."""


def of_groups(groups: Iterable[TrainingGroup]) -> list[Preference]:
    """Every pair, once however many groups both are in; patches of unknown truth are in none."""
    found = {(one.issue, one.better, one.worse): one for group in groups for one in _of(group)}
    return list(found.values())


def _of(group: TrainingGroup) -> Iterator[Preference]:
    pairs = zip(group.patches, group.targets, strict=True)
    known = [(patch, target) for patch, target in pairs if patch and target is not None]
    right = [one for one in known if one[1] >= 0.5]
    wrong = [one for one in known if one[1] < 0.5]
    for (better, high), (worse, low) in product(right, wrong):
        yield Preference(group.issue, group.problem_statement, better, worse, high - low)
