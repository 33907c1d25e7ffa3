"""The same thing twice: one edit in an issue, one issue under two names, and what will be measured on (pure)."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from model.errors import BadDiff
from model.patches import diff
from training.curation.near_duplicates import Known
from training.curation.patch_filters import MOST_READ
from training.curation.pools import Pool, PoolPatch, belief
from training.curation.steps import Reason


def one_of_each_edit(pools: Sequence[Pool]) -> tuple[list[Pool], Iterable[str]]:
    """Of the same edit in an issue one, with what is known of it; none where it has opposite labels."""
    kept, reasons = [], list[str]()
    for pool in pools:
        by_edit: dict[str, list[PoolPatch]] = {}
        for one in pool.patches:
            by_edit.setdefault(edit(one.diff), []).append(one)
        left: list[PoolPatch] = []
        for copies in by_edit.values():
            if len({belief(one) for one in copies} - {"unknown"}) > 1:
                reasons += ["copies with opposite labels"] * len(copies)
                continue
            left.append(_told(copies))
            reasons += ["the same edit as another"] * (len(copies) - 1)
        kept += [replace(pool, patches=tuple(left))] if left else []
    return kept, reasons


def one_of_each_issue(pools: Sequence[Pool]) -> tuple[list[Pool], Iterable[str]]:
    """Of issues that say the same the one of which most is known; which of them it is depends on no order."""
    known, kept, reasons = Known(), list[Pool](), list[str]()
    for pool in sorted(pools, key=lambda one: (-one.known, one.issue)):
        if known.like(pool.statement) is not None:
            reasons.append("says the same as another issue")
            continue
        known.add(pool.issue, pool.statement)
        kept.append(pool)
    chosen = {one.issue for one in kept}
    return [pool for pool in pools if pool.issue in chosen], reasons


@dataclass(frozen=True, slots=True)
class Measured:
    """What will be measured on: nothing of it may be learnt."""

    issues: frozenset[str]
    repositories: frozenset[str]
    """All of these is left out; empty: only the issues."""
    texts: Known
    edits: frozenset[str]

    @classmethod
    def of(cls, pools: Sequence[Pool], *, whole_repositories: bool = False) -> "Measured":
        """Of what the evaluation's files hold."""
        return cls(
            issues=frozenset(pool.issue for pool in pools),
            repositories=frozenset(pool.repo for pool in pools if whole_repositories),
            texts=Known((pool.issue, pool.statement) for pool in pools),
            edits=frozenset(edit(one.diff) for pool in pools for one in pool.patches if one.diff),
        )

    def reason(self, pool: Pool) -> Reason:
        """Why nothing may be learnt of an issue."""
        if pool.repo in self.repositories:
            return "a repository that is measured on"
        if pool.issue in self.issues:
            return "an issue that is measured on"
        if self.texts.like(pool.statement) is not None:
            return "says the same as an issue that is measured on"
        if any(edit(one.diff) in self.edits for one in pool.patches if one.diff):
            return "has a patch that is measured on"
        return None


def edits(pool: Pool) -> Iterator[str]:
    """A fingerprint of each patch."""
    return (edit(one.diff) for one in pool.patches if one.diff)


@lru_cache(maxsize=65_536)
def edit(text: str) -> str:
    """Equal for equal edits; text that is no diff, or too long to be read, is only like itself."""
    if len(text) > MOST_READ:
        return f"text {hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"
    try:
        return diff.fingerprint(text)
    except BadDiff:
        return f"text {text}"


def _told(copies: Sequence[PoolPatch]) -> PoolPatch:
    """The first one, with the mean of what is known of all."""
    known = [(one.target, one.weight) for one in copies if one.target is not None]
    if not known:
        return copies[0]
    weight = sum(weight for _, weight in known)
    target = sum(target * weight for target, weight in known) / weight if weight else known[0][0]
    told = [one.outcome_at for one in copies if one.outcome_at is not None]
    return replace(
        copies[0],
        target=target,
        weight=max(weight for _, weight in known),
        outcome_at=max(told, default=None),
    )
