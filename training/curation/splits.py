"""Split issues into train, validation, test and held-out repositories, never one issue on two sides (pure).

Outcomes are split by time: issues decided before the cutoff are for training, issues opened an embargo after it
are for the test. Benchmarks have no times, so the issue number within its repository replaces the time.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from training.curation.deduplication import list_edit_keys
from training.curation.near_duplicates import Clusters, cluster_by_shared
from training.curation.pools import Pool

TRAIN, VALIDATION, TEST, REPOSITORIES = "train", "validation", "test", "repositories"
SPLITS = (TRAIN, VALIDATION, TEST, REPOSITORIES)
"""All splits. Issues that share a patch go to the last of their splits in this order, or are dropped."""
_NUMBER = re.compile(r"\d+$")


class SplitBy(StrEnum):
    """What decides whether an issue is for training, validation or test."""

    TIME = "time"
    ISSUE = "issue"
    """A seeded hash of the issue: for corpora too young for a cutoff."""


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """Settings that divide a dataset's issues into training, validation, test and held-out repositories."""

    seed: int = 1
    mode: SplitBy = SplitBy.TIME
    validation: float = 0.1
    """Share of the issues before the cutoff."""
    test: float = 0.1
    """Share of all issues, the latest ones."""
    held_out: frozenset[str] = frozenset()
    """Repositories without any training issue."""
    cutoff: datetime | None = None
    """End of the training period. None: derived from `test`."""
    embargo: timedelta = timedelta(days=14)
    """Issues opened within this time after the cutoff are dropped."""


@dataclass(frozen=True, slots=True)
class IssueSplits:
    """The issues of each dataset split, and a reason for each dropped issue."""

    pools: Mapping[str, Sequence[Pool]]
    """The issues with their patches, by the name of the split."""
    reasons: Sequence[str]


def split_pools(pools: Sequence[Pool], plan: SplitPlan) -> IssueSplits:
    """Assign each issue to one split, by time or by hash. Returns the splits and a reason for each dropped issue.

    Issues that share a patch never stand in two splits.
    """
    clusters = cluster_by_shared({pool.issue: list_edit_keys(pool) for pool in pools})
    cut = plan.cutoff or _find_cutoff(pools, plan)
    latest = _find_latest(pools, plan.test)
    own = {pool.issue: _assign_side(pool, plan, cut, latest, clusters) for pool in pools}
    sides: dict[str, set[str]] = defaultdict(set)
    for issue, side in own.items():
        sides[clusters.find_root(issue)].add(side)
    parts: dict[str, list[Pool]] = {name: [] for name in SPLITS}
    reasons = []
    for pool in pools:
        side, together = own[pool.issue], sides[clusters.find_root(pool.issue)]
        if side not in parts:
            reasons.append(side)
        elif side != max(together & set(SPLITS), key=SPLITS.index):
            reasons.append("shares a patch with an issue of another split")
        else:
            shown = pool.hide_later_labels(cut) if cut and _is_before_cutoff(side) else pool
            parts[side].append(shown)
    return IssueSplits(parts, reasons)


def _assign_side(
    pool: Pool, plan: SplitPlan, cut: datetime | None, latest: frozenset[str], clusters: Clusters
) -> str:
    """Return the split of an issue, or the reason why it is dropped."""
    if pool.repo in plan.held_out:
        return REPOSITORIES
    lot = _hash_to_unit(plan.seed, clusters.find_root(pool.issue))
    if plan.mode is SplitBy.ISSUE:
        return _assign_by_hash(lot, (TEST, plan.test), (VALIDATION, plan.validation))
    if pool.as_of is None:
        return TEST if pool.issue in latest else _assign_by_hash(lot, (VALIDATION, plan.validation))
    if cut is not None and pool.as_of >= cut:
        return TEST if pool.as_of >= cut + plan.embargo else "opened within the embargo"
    if cut is not None and pool.hide_later_labels(cut).label_count == 0 < pool.label_count:
        return "decided after the cut"
    return _assign_by_hash(lot, (VALIDATION, plan.validation))


def _assign_by_hash(lot: float, *shares: tuple[str, float]) -> str:
    start = 0.0
    for name, share in shares:
        start += share
        if lot < start:
            return name
    return TRAIN


def _is_before_cutoff(side: str) -> bool:
    return side in {TRAIN, VALIDATION}


def _find_cutoff(pools: Sequence[Pool], plan: SplitPlan) -> datetime | None:
    """Return the cutoff: one embargo before the latest labelled issues. None if no issue has a time."""
    dated = sorted(
        pool.as_of
        for pool in pools
        if pool.as_of is not None and pool.label_count and pool.repo not in plan.held_out
    )
    if plan.mode is SplitBy.ISSUE or not dated or not plan.test:
        return None
    return dated[min(len(dated) - 1, int(len(dated) * (1 - plan.test)))] - plan.embargo


def _find_latest(pools: Sequence[Pool], share: float) -> frozenset[str]:
    """Return the issues with the highest numbers of each repository, among issues without a time."""
    numbered: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for pool in pools:
        if pool.as_of is None and (number := _NUMBER.search(pool.issue)):
            numbered[pool.repo].append((int(number[0]), pool.issue))
    return frozenset(
        issue
        for issues in numbered.values()
        for _, issue in sorted(issues)[len(issues) - int(len(issues) * share) :]
    )


def _hash_to_unit(seed: int, name: str) -> float:
    """Return a seeded pseudo-random number in [0, 1)."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64
