"""Run curation as named steps that keep items or drop them with a counted reason (pure)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from training.curation.pools import Pool, PoolPatch
from training.datasets.groups import TrainingGroup
from training.datasets.manifest import CurationStep

Reason = str | None
"""Why an item is dropped. None: it is kept."""
Filter = Callable[[Sequence[Pool]], tuple[list[Pool], Iterable[str]]]
"""A curation step: returns the kept issues with their patches (pools), and a reason for each dropped item."""


def filter_issues(find_reason: Callable[[Pool], Reason]) -> Filter:
    """Build a curation step that keeps or drops each issue by itself.

    `find_reason` returns why an issue is dropped, or None to keep it.
    """

    def choose(pools: Sequence[Pool]) -> tuple[list[Pool], Iterable[str]]:
        decisions = [(pool, find_reason(pool)) for pool in pools]
        kept = [pool for pool, reason in decisions if reason is None]
        return kept, [reason for _, reason in decisions if reason is not None]

    return choose


def filter_patches(find_reason: Callable[[PoolPatch], Reason]) -> Filter:
    """Build a curation step that keeps or drops each patch by itself. Issues without a patch are dropped too.

    `find_reason` returns why a patch is dropped, or None to keep it.
    """

    def choose(pools: Sequence[Pool]) -> tuple[list[Pool], Iterable[str]]:
        kept, reasons = [], list[str]()
        for pool in pools:
            decisions = [(patch, find_reason(patch)) for patch in pool.patches]
            reasons += [reason for _, reason in decisions if reason is not None]
            left = tuple(patch for patch, reason in decisions if reason is None)
            kept += [replace(pool, patches=left)] if left else []
        return kept, reasons

    return choose


def run_steps(
    pools: Sequence[Pool], steps: Iterable[tuple[str, Filter]]
) -> tuple[list[Pool], list[CurationStep]]:
    """Apply named curation steps in order. Returns the remaining issues with their patches, and each step's counts."""
    kept, counts = list(pools), []
    for name, choose in steps:
        kept, reasons = choose(kept)
        counts.append(count_step(name, kept, reasons))
    return kept, counts


def count_step(
    name: str, kept: Sequence[Pool | TrainingGroup], reasons: Iterable[str]
) -> CurationStep:
    """Return the manifest's entry for the curation step `name`.

    The entry counts what the step kept, and what it dropped by reason. `reasons` holds one reason for each dropped
    item.
    """
    issues = len({item.issue for item in kept})
    units = sum(len(item.patches) if isinstance(item, Pool) else 1 for item in kept)
    return CurationStep(name, issues, units, dict(sorted(Counter(reasons).items())))
