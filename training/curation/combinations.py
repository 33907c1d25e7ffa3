"""Form training groups from the patches of an issue: all fours of six patches (R4P, appendix B.1; pure)."""

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from training.curation.pools import Pool, PoolPatch
from training.datasets.groups import TrainingGroup


@dataclass(frozen=True, slots=True)
class GroupShape:
    """Size limits of the training groups that an issue's patches form."""

    seats: int = 4
    """Number of patches in a group, padding included."""
    max_patches: int = 6
    """Most patches of an issue that form groups. Patches with a label are preferred."""
    min_patches: int = 2
    """Issues with fewer patches are dropped. Free seats become padding."""
    max_characters: int | None = None
    """Most characters of an issue with the patches of a group. None: no limit."""


def form_groups(pool: Pool, shape: GroupShape, seed: int) -> tuple[list[TrainingGroup], list[str]]:
    """Form a training group from each combination of an issue's patches that fits the size limits `shape`.

    Returns the groups, and a reason for each dropped group or for the dropped issue. `seed` decides which patches are
    used if the issue has too many. Patches are ordered by the hash of their text, which reveals no label.
    """
    if pool.label_count == 0:
        return [], ["nothing is known of its patches"]
    if len(pool.patches) < shape.min_patches:
        return [], [f"fewer than {shape.min_patches} patches"]
    chosen = _choose_patches(pool, shape.max_patches, seed)
    kept, reasons = [], list[str]()
    for seated in combinations(chosen, min(shape.seats, len(chosen))):
        if all(patch.target is None for patch in seated):
            reasons.append("nothing is known of its patches")
        elif shape.max_characters and _count_characters(pool, seated) > shape.max_characters:
            reasons.append(f"more than {shape.max_characters:,} characters")
        else:
            kept.append(_build_group(pool, seated, shape.seats))
    return kept, reasons


def limit_per_issue(groups: Iterable[TrainingGroup], limit: int, seed: int) -> list[TrainingGroup]:
    """Return at most `limit` groups of each issue, chosen by `seed`.

    Groups of one issue share patches, so more of them add little.
    """
    kept: dict[str, list[TrainingGroup]] = {}
    for group in sorted(groups, key=lambda group: _hash_text(f"{seed} {group.key}")):
        kept.setdefault(group.issue, []).append(group)
    return [group for issue in sorted(kept) for group in kept[issue][:limit]]


def _choose_patches(pool: Pool, most: int, seed: int) -> list[PoolPatch]:
    """Choose patches at random, labelled ones first. The order depends on their text only."""
    lots = random.Random(f"{seed} {pool.issue}")
    order = sorted(pool.patches, key=lambda patch: _hash_text(patch.diff))
    lots.shuffle(order)
    taken = sorted(order, key=lambda patch: patch.target is None)[:most]
    return sorted(taken, key=lambda patch: _hash_text(patch.diff))


def _build_group(pool: Pool, seated: tuple[PoolPatch, ...], seats: int) -> TrainingGroup:
    free = seats - len(seated)
    labelled = [patch for patch in seated if patch.target is not None]
    times = [patch.outcome_at for patch in labelled if patch.outcome_at is not None]
    return TrainingGroup(
        key=_hash_text("\0".join((pool.issue, *(patch.diff for patch in seated))))[:16],
        issue=pool.issue,
        repo=pool.repo,
        problem_statement=pool.statement,
        patches=(*(patch.diff for patch in seated), *[""] * free),
        targets=(*(patch.target for patch in seated), *[None] * free),
        weight=sum(patch.weight for patch in labelled) / len(labelled),
        source=pool.source,
        as_of=pool.as_of,
        outcome_at=max(times, default=None),
        licence=pool.licence,
    )


def _count_characters(pool: Pool, seated: tuple[PoolPatch, ...]) -> int:
    return len(pool.statement) + sum(len(patch.diff) for patch in seated)


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
