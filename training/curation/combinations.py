"""From the patches known for an issue to groups: all fours of six, as R4P forms them (appendix B.1; pure)."""

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from training.curation.pools import Pool, PoolPatch
from training.datasets.groups import TrainingGroup


@dataclass(frozen=True, slots=True)
class Shape:
    """How groups are formed."""

    seats: int = 4
    most: int = 6
    """Patches of one issue that are combined: of six there are 15 fours, of twelve 495."""
    least: int = 2
    """Patches below which there is nothing to compare. Free seats are padded, as they are when the bot judges."""
    most_characters: int | None = None
    """Of an issue with its patches; None: whatever the model's context holds."""


def groups(pool: Pool, shape: Shape, seed: int) -> tuple[list[TrainingGroup], list[str]]:
    """The groups of an issue, their patches in an order that tells nothing, and a reason for each that is none."""
    if pool.known == 0:
        return [], ["nothing is known of its patches"]
    if len(pool.patches) < shape.least:
        return [], [f"fewer than {shape.least} patches"]
    chosen = _chosen(pool, shape.most, seed)
    kept, reasons = [], list[str]()
    for seated in combinations(chosen, min(shape.seats, len(chosen))):
        if all(one.target is None for one in seated):
            reasons.append("nothing is known of its patches")
        elif shape.most_characters and _characters(pool, seated) > shape.most_characters:
            reasons.append(f"more than {shape.most_characters:,} characters")
        else:
            kept.append(_group(pool, seated, shape.seats))
    return kept, reasons


def a_few(groups: Iterable[TrainingGroup], most: int, seed: int) -> list[TrainingGroup]:
    """At most so many groups of each issue: they share patches, so more of them tell little."""
    kept: dict[str, list[TrainingGroup]] = {}
    for one in sorted(groups, key=lambda one: _rank(f"{seed} {one.key}")):
        kept.setdefault(one.issue, []).append(one)
    return [one for issue in sorted(kept) for one in kept[issue][:most]]


def _chosen(pool: Pool, most: int, seed: int) -> list[PoolPatch]:
    """Those of which something is known before others, by lot; in an order that depends on their text alone."""
    lots = random.Random(f"{seed} {pool.issue}")
    order = sorted(pool.patches, key=lambda one: _rank(one.diff))
    lots.shuffle(order)
    taken = sorted(order, key=lambda one: one.target is None)[:most]
    return sorted(taken, key=lambda one: _rank(one.diff))


def _group(pool: Pool, seated: tuple[PoolPatch, ...], seats: int) -> TrainingGroup:
    free = seats - len(seated)
    known = [one for one in seated if one.target is not None]
    told = [one.outcome_at for one in known if one.outcome_at is not None]
    return TrainingGroup(
        key=_rank("\0".join((pool.issue, *(one.diff for one in seated))))[:16],
        issue=pool.issue,
        repo=pool.repo,
        problem_statement=pool.statement,
        patches=(*(one.diff for one in seated), *[""] * free),
        targets=(*(one.target for one in seated), *[None] * free),
        weight=sum(one.weight for one in known) / len(known),
        source=pool.source,
        as_of=pool.as_of,
        outcome_at=max(told, default=None),
        licence=pool.licence,
    )


def _characters(pool: Pool, seated: tuple[PoolPatch, ...]) -> int:
    return len(pool.statement) + sum(len(one.diff) for one in seated)


def _rank(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
