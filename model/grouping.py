"""Who sits next to whom: candidates to seated groups, another order for every vote (pure).

The paper's group has four seats; fewer patches are padded, more are partitioned (R4P, section 3).
"""

import random
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

from model.domain import PatchId

SEATS = 4
"""N of the paper: how many patches the verifier was trained to judge together."""

_DRAWS = 16
"""Orders drawn for one vote, of which the one that repeats least is taken."""

Seating = tuple[PatchId | None, ...]
"""One part of a group, seat 1 first; None is empty padding, always last."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A patch as the seating plan sees it."""

    id: PatchId
    fingerprint: str
    solo: bool = False
    """Too long to be shown beside others; it sits alone."""


def share_seats(candidates: Sequence[Candidate]) -> dict[PatchId, PatchId]:
    """Each candidate's representative, whatever their order: of equal fingerprints the smallest id sits for all."""
    first: dict[str, PatchId] = {}
    for one in candidates:
        first[one.fingerprint] = min(one.id, first.get(one.fingerprint, one.id))
    return {one.id: first[one.fingerprint] for one in candidates}


def part_sizes(count: int) -> tuple[int, ...]:
    """How `count` patches divide into ceil(count / 4) parts, as equal as can be, larger ones first."""
    parts = -(-count // SEATS)
    return tuple(count // parts + (part < count % parts) for part in range(parts))


def plans(candidates: Sequence[Candidate], seed: int) -> Iterator[tuple[Seating, ...]]:
    """Vote after vote, without end: the parts of the group, each a seating of four.

    Every candidate that is given sits exactly once in every vote. The same candidates and seed give the same
    plan, whatever their order, so a later run can go on where an earlier one stopped. Each plan repeats
    partitions, neighbours and places of earlier ones as little as a few draws allow.
    """
    ordered = sorted(candidates, key=lambda one: (one.fingerprint, one.id))
    together = [one.id for one in ordered if not one.solo]
    alone = tuple(_padded((one.id,)) for one in ordered if one.solo)
    seen: Counter[Hashable] = Counter()
    randomness = random.Random(seed)
    while True:
        draws = (_draw(together, randomness) for _ in range(_DRAWS))
        chosen = min(draws, key=lambda parts: _repeats(parts, seen))
        seen.update(_traits(chosen))
        yield (*chosen, *alone)


def _draw(ids: Sequence[PatchId], randomness: random.Random) -> tuple[Seating, ...]:
    if not ids:
        return ()
    deck = iter(randomness.sample(ids, len(ids)))
    return tuple(_padded(tuple(islice(deck, size))) for size in part_sizes(len(ids)))


def _padded(ids: tuple[PatchId, ...]) -> Seating:
    return ids + (None,) * (SEATS - len(ids))


def _traits(parts: tuple[Seating, ...]) -> Iterator[Hashable]:
    """What should not happen twice: this very partition, two being neighbours, one keeping a place."""
    yield frozenset(frozenset(part) for part in parts)
    for part in parts:
        yield from (("place", seat, one) for seat, one in enumerate(part) if one is not None)
        yield from (frozenset(pair) for pair in combinations(filter(None, part), 2))


def _repeats(parts: tuple[Seating, ...], seen: Counter[Hashable]) -> tuple[int, int]:
    partition, *rest = _traits(parts)
    return seen[partition], sum(seen[trait] for trait in rest)
