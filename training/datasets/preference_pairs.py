"""Pair correct with incorrect patches of the same issue (pure)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from training.datasets.groups import TrainingGroup


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """A correct and an incorrect patch of one issue."""

    issue: str
    statement: str
    better: str
    worse: str
    margin: float
    """Difference of their targets, 0 to 1."""


def build_preferences(groups: Iterable[TrainingGroup]) -> list[PreferencePair]:
    """Return every pair once, however many groups contain it. Unlabelled patches are skipped."""
    pairs = {
        (pair.issue, pair.better, pair.worse): pair
        for group in groups
        for pair in _iterate_preferences(group)
    }
    return list(pairs.values())


def _iterate_preferences(group: TrainingGroup) -> Iterator[PreferencePair]:
    pairs = zip(group.patches, group.targets, strict=True)
    labelled = [(patch, target) for patch, target in pairs if patch and target is not None]
    right = [patch for patch in labelled if patch[1] >= 0.5]
    wrong = [patch for patch in labelled if patch[1] < 0.5]
    for (better, high), (worse, low) in product(right, wrong):
        yield PreferencePair(group.issue, group.problem_statement, better, worse, high - low)
