"""Form training groups from the patches of an issue: all fours of six patches (R4P, appendix B.1; pure).

Section 5.3 advises groups of very similar or very different patches. An option keeps only the groups that come closest.
"""

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from model.patches.edits import count_changed_words, measure_overlap
from model.voting.grouping import rate_half_likeness
from training.curation.pools import Pool, PoolPatch
from training.datasets.groups import TrainingGroup

_Seated = tuple[PoolPatch, ...]


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
    clear_groups: int | None = None
    """Most groups of an issue: those whose patches are most alike or most unlike (R4P, section 5.3). None: all."""


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
    kept, reasons = list[_Seated](), list[str]()
    for seated in combinations(chosen, min(shape.seats, len(chosen))):
        if all(patch.target is None for patch in seated):
            reasons.append("nothing is known of its patches")
        elif shape.max_characters and _count_characters(pool, seated) > shape.max_characters:
            reasons.append(f"more than {shape.max_characters:,} characters")
        else:
            kept.append(seated)
    if shape.clear_groups and len(kept) > shape.clear_groups:
        reasons += ["half alike"] * (len(kept) - shape.clear_groups)
        kept = _choose_clear(kept, shape.clear_groups)
    return [_build_group(pool, seated, shape.seats) for seated in kept], reasons


def _choose_clear(groups: Sequence[_Seated], most: int) -> list[_Seated]:
    """Choose the groups whose pairs are the least half-alike, by the measure of judging; the first of equal ones."""
    words = {patch.diff: count_changed_words(patch.diff) for seated in groups for patch in seated}

    def rate(seated: _Seated) -> float:
        pairs = combinations((words[patch.diff] for patch in seated), 2)
        # every group has as many pairs, so the sum orders as the mean does
        return sum(rate_half_likeness(measure_overlap(*pair)) for pair in pairs)

    ratings = [rate(seated) for seated in groups]
    places = sorted(range(len(groups)), key=lambda place: (ratings[place], place))[:most]
    return [groups[place] for place in sorted(places)]


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


def _build_group(pool: Pool, seated: _Seated, seats: int) -> TrainingGroup:
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
        trajectories=(*(patch.trajectory for patch in seated), *[None] * free)
        if any(patch.trajectory for patch in seated)
        else (),
    )


def _count_characters(pool: Pool, seated: _Seated) -> int:
    return len(pool.statement) + sum(len(patch.diff) for patch in seated)


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
