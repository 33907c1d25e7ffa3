"""Curation as named steps, each of which keeps or drops with a reason that is counted (pure)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from training.curation.pools import Pool, PoolPatch
from training.datasets.manifest import Step

Reason = str | None
"""Why something is dropped; None: it is kept."""


@dataclass(frozen=True, slots=True)
class IssueStep:
    """Looks at one issue after the other."""

    name: str
    reason: Callable[[Pool], Reason]

    def __call__(self, pools: Sequence[Pool]) -> tuple[list[Pool], Step]:
        """What is kept, and what is not."""
        told = [(pool, self.reason(pool)) for pool in pools]
        kept = [pool for pool, reason in told if reason is None]
        return kept, _step(self.name, kept, (reason for _, reason in told))


@dataclass(frozen=True, slots=True)
class PatchStep:
    """Looks at one patch after the other; an issue without a patch is no issue any more."""

    name: str
    reason: Callable[[Pool, PoolPatch], Reason]

    def __call__(self, pools: Sequence[Pool]) -> tuple[list[Pool], Step]:
        """What is kept, and what is not."""
        kept, reasons = [], Counter[Reason]()
        for pool in pools:
            told = [(one, self.reason(pool, one)) for one in pool.patches]
            reasons.update(reason for _, reason in told)
            left = tuple(one for one, reason in told if reason is None)
            kept += [replace(pool, patches=left)] if left else []
        return kept, _step(self.name, kept, reasons.elements())


@dataclass(frozen=True, slots=True)
class WholeStep:
    """Looks at all of them together; returns what is kept and a reason for each issue or patch that is not."""

    name: str
    choose: Callable[[Sequence[Pool]], tuple[list[Pool], Iterable[str]]]

    def __call__(self, pools: Sequence[Pool]) -> tuple[list[Pool], Step]:
        """What is kept, and what is not."""
        kept, reasons = self.choose(pools)
        return kept, _step(self.name, kept, reasons)


AnyStep = IssueStep | PatchStep | WholeStep


def curated(pools: Sequence[Pool], steps: Iterable[AnyStep]) -> tuple[list[Pool], list[Step]]:
    """What all steps leave, one after the other, with what each dropped."""
    kept, told = list(pools), []
    for step in steps:
        kept, said = step(kept)
        told.append(said)
    return kept, told


def _step(name: str, kept: Sequence[Pool], reasons: Iterable[Reason]) -> Step:
    dropped = Counter(reason for reason in reasons if reason is not None)
    patches = sum(len(pool.patches) for pool in kept)
    return Step(name, len(kept), patches, dict(sorted(dropped.items())))
