"""Run curation as named steps that keep items or drop them with a counted reason (pure)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from training.curation.pools import Pool, PoolPatch
from training.datasets.manifest import CurationStep

Reason = str | None
"""Why an item is dropped. None: it is kept."""


@dataclass(frozen=True, slots=True)
class IssueStep:
    """A curation step that keeps or drops each issue by itself."""

    name: str
    find_reason: Callable[[Pool], Reason]

    def __call__(self, pools: Sequence[Pool]) -> tuple[list[Pool], CurationStep]:
        """Return the kept pools and the step's counts."""
        decisions = [(pool, self.find_reason(pool)) for pool in pools]
        kept = [pool for pool, reason in decisions if reason is None]
        return kept, _count_step(self.name, kept, (reason for _, reason in decisions))


@dataclass(frozen=True, slots=True)
class PatchStep:
    """A curation step that keeps or drops each patch by itself. Issues without a patch are dropped too."""

    name: str
    find_reason: Callable[[Pool, PoolPatch], Reason]

    def __call__(self, pools: Sequence[Pool]) -> tuple[list[Pool], CurationStep]:
        """Return the kept pools and the step's counts."""
        kept, reasons = [], Counter[Reason]()
        for pool in pools:
            decisions = [(patch, self.find_reason(pool, patch)) for patch in pool.patches]
            reasons.update(reason for _, reason in decisions)
            left = tuple(patch for patch, reason in decisions if reason is None)
            kept += [replace(pool, patches=left)] if left else []
        return kept, _count_step(self.name, kept, reasons.elements())


@dataclass(frozen=True, slots=True)
class PoolsStep:
    """A curation step that sees all issues with their patches (pools) at once, for example to find duplicates.

    `choose` returns the kept pools and a reason for each dropped item.
    """

    name: str
    choose: Callable[[Sequence[Pool]], tuple[list[Pool], Iterable[str]]]

    def __call__(self, pools: Sequence[Pool]) -> tuple[list[Pool], CurationStep]:
        """Return the kept pools and the step's counts."""
        kept, reasons = self.choose(pools)
        return kept, _count_step(self.name, kept, reasons)


AnyStep = IssueStep | PatchStep | PoolsStep


def run_steps(
    pools: Sequence[Pool], steps: Iterable[AnyStep]
) -> tuple[list[Pool], list[CurationStep]]:
    """Apply curation steps in order. Returns the remaining issues with their patches, and each step's counts."""
    kept, counts = list(pools), []
    for step in steps:
        kept, count = step(kept)
        counts.append(count)
    return kept, counts


def _count_step(name: str, kept: Sequence[Pool], reasons: Iterable[Reason]) -> CurationStep:
    dropped = Counter(reason for reason in reasons if reason is not None)
    patches = sum(len(pool.patches) for pool in kept)
    return CurationStep(name, len(kept), patches, dict(sorted(dropped.items())))
