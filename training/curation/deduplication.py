"""Remove duplicate patches and issues, and everything that an evaluation will measure (pure)."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from model.errors import BadDiff
from model.patches import diff
from training.curation.near_duplicates import NearDuplicateIndex
from training.curation.patch_filters import MAX_RAW_CHARACTERS
from training.curation.pools import Pool, PoolPatch, describe_belief
from training.curation.steps import Reason


def drop_duplicate_edits(pools: Sequence[Pool]) -> tuple[list[Pool], Iterable[str]]:
    """Keep one patch of each edit in an issue, with the merged label. Drop edits with opposite labels.

    Returns the issues with the kept patches, and a reason for each dropped patch.
    """
    kept, reasons = [], list[str]()
    for pool in pools:
        by_edit: dict[str, list[PoolPatch]] = {}
        for patch in pool.patches:
            by_edit.setdefault(build_edit_key(patch.diff), []).append(patch)
        left: list[PoolPatch] = []
        for copies in by_edit.values():
            if len({describe_belief(patch) for patch in copies} - {"unknown"}) > 1:
                reasons += ["copies with opposite labels"] * len(copies)
                continue
            left.append(_merge_copies(copies))
            reasons += ["the same edit as another"] * (len(copies) - 1)
        kept += [replace(pool, patches=tuple(left))] if left else []
    return kept, reasons


def drop_duplicate_issues(pools: Sequence[Pool]) -> tuple[list[Pool], Iterable[str]]:
    """Keep one of several issues with nearly the same text: the one with most labels, whatever the input order.

    Returns the kept issues with their patches, and a reason for each dropped issue.
    """
    index, kept, reasons = NearDuplicateIndex(), list[Pool](), list[str]()
    for pool in sorted(pools, key=lambda pool: (-pool.label_count, pool.issue)):
        if index.find(pool.statement) is not None:
            reasons.append("says the same as another issue")
            continue
        index.add(pool.issue, pool.statement)
        kept.append(pool)
    chosen = {pool.issue for pool in kept}
    return [pool for pool in pools if pool.issue in chosen], reasons


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """The issues, texts and edits of an evaluation. Training must not use them."""

    issues: frozenset[str]
    repositories: frozenset[str]
    """Repositories to exclude completely. Empty: only the issues are excluded."""
    texts: NearDuplicateIndex
    """Index of the issues' texts, which finds nearly equal texts."""
    edits: frozenset[str]
    """Keys of the patches' edits, by `build_edit_key`."""

    @classmethod
    def from_pools(
        cls, pools: Sequence[Pool], *, whole_repositories: bool = False
    ) -> "EvaluationSet":
        """Build the set of what training must not use from the issues and patches of an evaluation.

        With `whole_repositories`, training must not use any other issue of their repositories either.
        """
        return cls(
            issues=frozenset(pool.issue for pool in pools),
            repositories=frozenset(pool.repo for pool in pools if whole_repositories),
            texts=NearDuplicateIndex((pool.issue, pool.statement) for pool in pools),
            edits=frozenset(
                build_edit_key(patch.diff) for pool in pools for patch in pool.patches if patch.diff
            ),
        )

    def find_overlap(self, pool: Pool) -> Reason:
        """Return why training may not use the issue and patches of `pool`; None if it may use them."""
        if pool.repo in self.repositories:
            return "a repository that is measured on"
        if pool.issue in self.issues:
            return "an issue that is measured on"
        if self.texts.find(pool.statement) is not None:
            return "says the same as an issue that is measured on"
        if any(build_edit_key(patch.diff) in self.edits for patch in pool.patches if patch.diff):
            return "has a patch that is measured on"
        return None


def list_edit_keys(pool: Pool) -> Iterator[str]:
    """Yield the key (`build_edit_key`) of each patch of an issue; patches that make the same edit share a key."""
    return (build_edit_key(patch.diff) for patch in pool.patches if patch.diff)


@lru_cache(maxsize=65_536)
def build_edit_key(text: str) -> str:
    """Return a key for the edit that the diff `text` makes; diffs that make the same edit have the same key.

    The key of a text that is too long or no diff is a hash of the whole text.
    """
    if len(text) > MAX_RAW_CHARACTERS:
        return f"text {hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"
    try:
        return diff.fingerprint(text)
    except BadDiff:
        return f"text {text}"


def _merge_copies(copies: Sequence[PoolPatch]) -> PoolPatch:
    """Return the first copy with the weighted mean target of all labelled copies, and the first known trajectory."""
    trajectory = next((copy.trajectory for copy in copies if copy.trajectory), None)
    labelled = [(copy.target, copy.weight) for copy in copies if copy.target is not None]
    if not labelled:
        return replace(copies[0], trajectory=trajectory)
    weight = sum(weight for _, weight in labelled)
    target = (
        sum(target * weight for target, weight in labelled) / weight if weight else labelled[0][0]
    )
    times = [copy.outcome_at for copy in copies if copy.outcome_at is not None]
    return replace(
        copies[0],
        target=target,
        weight=max(weight for _, weight in labelled),
        outcome_at=max(times, default=None),
        trajectory=trajectory,
    )
