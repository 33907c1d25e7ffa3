"""What is learnt from, what is chosen by, and what is measured on: never an issue on two sides (pure).

Outcomes are cut by time: what was decided before the cut is learnt from, what was opened an embargo after it is measured
on. Benchmarks tell no times; there the number of an issue in its repository stands for it.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from training.curation.deduplication import edits
from training.curation.near_duplicates import Clusters, by_shared
from training.curation.pools import Pool

TRAIN, VALIDATION, TEST, REPOSITORIES = "train", "validation", "test", "repositories"
SPLITS = (TRAIN, VALIDATION, TEST, REPOSITORIES)
"""From what decides least to what decides most, where issues that belong together would stand on two sides."""
_NUMBER = re.compile(r"\d+$")


class SplitBy(StrEnum):
    """What decides on which side an issue stands."""

    TIME = "time"
    ISSUE = "issue"
    """A lot: for corpora too young to be cut."""


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """Where the lines are."""

    seed: int = 1
    by: SplitBy = SplitBy.TIME
    validation: float = 0.1
    """Share of the issues before the cut."""
    test: float = 0.1
    """Share of all issues, the latest."""
    held_out: frozenset[str] = frozenset()
    """Repositories of which nothing is learnt."""
    cut: datetime | None = None
    """None: where `test` says."""
    embargo: timedelta = timedelta(days=14)
    """What is opened so soon after the cut may be about what was learnt."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The issues of each split, and a reason for each issue that is in none."""

    pools: Mapping[str, Sequence[Pool]]
    reasons: Sequence[str]


def split(pools: Sequence[Pool], plan: SplitPlan) -> Parts:
    """Each issue on one side, with all that share a patch with it."""
    clusters = by_shared({pool.issue: edits(pool) for pool in pools})
    cut = plan.cut or _cut(pools, plan)
    latest = _latest(pools, plan.test)
    own = {pool.issue: _side(pool, plan, cut, latest, clusters) for pool in pools}
    sides: dict[str, set[str]] = defaultdict(set)
    for issue, side in own.items():
        sides[clusters.of(issue)].add(side)
    parts: dict[str, list[Pool]] = {name: [] for name in SPLITS}
    reasons = []
    for pool in pools:
        side, together = own[pool.issue], sides[clusters.of(pool.issue)]
        if side not in parts:
            reasons.append(side)
        elif side != max(together & set(SPLITS), key=SPLITS.index):
            reasons.append("shares a patch with an issue of another split")
        else:
            shown = pool.without_later_labels(cut) if cut and _is_before(side) else pool
            parts[side].append(shown)
    return Parts(parts, reasons)


def _side(
    pool: Pool, plan: SplitPlan, cut: datetime | None, latest: frozenset[str], clusters: Clusters
) -> str:
    """The split, or why there is none."""
    if pool.repo in plan.held_out:
        return REPOSITORIES
    lot = _lot(plan.seed, clusters.of(pool.issue))
    if plan.by is SplitBy.ISSUE:
        return _by_lot(lot, (TEST, plan.test), (VALIDATION, plan.validation))
    if pool.as_of is None:
        return TEST if pool.issue in latest else _by_lot(lot, (VALIDATION, plan.validation))
    if cut is not None and pool.as_of >= cut:
        return TEST if pool.as_of >= cut + plan.embargo else "opened within the embargo"
    if cut is not None and pool.without_later_labels(cut).known == 0 < pool.known:
        return "decided after the cut"
    return _by_lot(lot, (VALIDATION, plan.validation))


def _by_lot(lot: float, *shares: tuple[str, float]) -> str:
    start = 0.0
    for name, share in shares:
        start += share
        if lot < start:
            return name
    return TRAIN


def _is_before(side: str) -> bool:
    return side in {TRAIN, VALIDATION}


def _cut(pools: Sequence[Pool], plan: SplitPlan) -> datetime | None:
    """An embargo before the latest issues of which something is known; None where nothing tells a time."""
    dated = sorted(
        pool.as_of
        for pool in pools
        if pool.as_of is not None and pool.known and pool.repo not in plan.held_out
    )
    if plan.by is SplitBy.ISSUE or not dated or not plan.test:
        return None
    return dated[min(len(dated) - 1, int(len(dated) * (1 - plan.test)))] - plan.embargo


def _latest(pools: Sequence[Pool], share: float) -> frozenset[str]:
    """The issues with the highest numbers of each repository, of those that tell no time."""
    numbered: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for pool in pools:
        if pool.as_of is None and (found := _NUMBER.search(pool.issue)):
            numbered[pool.repo].append((int(found[0]), pool.issue))
    return frozenset(
        issue
        for issues in numbered.values()
        for _, issue in sorted(issues)[len(issues) - int(len(issues) * share) :]
    )


def _lot(seed: int, name: str) -> float:
    """From 0 up to 1."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64
