"""Who sits next to whom: candidates to seated groups, another order for every vote (pure).

The paper's group has four seats; fewer patches are padded, more are partitioned (R4P, section 3).
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, cycle, islice, permutations, repeat

from model.domain import PatchId

SEATS = 4
"""N of the paper: how many patches the verifier was trained to judge together."""

_DRAWS = 16
"""Partitions, or orders of a long part, drawn for one vote, of which the best is taken."""

Seating = tuple[PatchId | None, ...]
"""One part of a group, seat 1 first; None is empty padding, always last."""

Likeness = Callable[[PatchId, PatchId], float]
"""How alike two patches are, 0…1."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A patch as the seating plan sees it."""

    id: PatchId
    fingerprint: str
    solo: bool = False
    """Too long to be shown beside others; it sits alone."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """How the candidates of a group are put before the verifier."""

    name: str
    seats: int
    """Of one prompt."""
    plans: "Callable[[Sequence[Candidate], int, Likeness], Iterator[tuple[Seating, ...]]]"
    """Vote after vote, without end, the seatings that one vote is made of, from the candidates and a seed."""
    one_out: bool = False
    """Every vote leaves one candidate out, so that it can be told what hangs on a rival's presence."""


def share_seats(candidates: Sequence[Candidate]) -> dict[PatchId, PatchId]:
    """Each candidate's representative, whatever their order: of equal fingerprints the smallest id sits for all."""
    first: dict[str, PatchId] = {}
    for one in candidates:
        first[one.fingerprint] = min(one.id, first.get(one.fingerprint, one.id))
    return {one.id: first[one.fingerprint] for one in candidates}


def part_sizes(count: int, seats: int = SEATS) -> tuple[int, ...]:
    """How `count` patches divide into as few parts as `seats` allow, as equal as can be, larger ones first."""
    return _evenly(count, -(-count // seats))


def _evenly(count: int, parts: int) -> tuple[int, ...]:
    return tuple(count // parts + (part < count % parts) for part in range(parts))


def in_groups(seats: int = SEATS, *, one_out: bool = False) -> Scheme:
    """Everybody sits once in every vote, in parts of at most `seats`; with `one_out`, all but one, in as many parts.

    The same candidates and seed give the same plan, whatever their order, so a later run can go on where an earlier
    one stopped. From vote to vote no part is repeated while another partition is left to draw, neighbours are as
    new as a few draws allow, and those are preferred who are very like or very unlike each other: between the two
    verifiers err most (R4P, section 5.3). Within a part everybody visits every seat equally often; where that leaves
    a choice, an order begins like an earlier one, so that an engine's prefix cache serves it.
    """

    def plans(
        candidates: Sequence[Candidate], seed: int, likeness: Likeness
    ) -> Iterator[tuple[Seating, ...]]:
        together, alone = _sorted(candidates)
        parts_needed = len(part_sizes(len(together), seats))
        solos = tuple(_padded((one,), seats) for one in alone)
        randomness = random.Random(seed)
        seen = _Seen()
        turns = _absent(together, randomness) if one_out else repeat(None)
        while True:
            absent = next(turns)
            sitting = [one for one in together if one != absent]
            drawn = (_partition(sitting, parts_needed, randomness) for _ in range(_DRAWS))
            parts = min(drawn, key=lambda parts: seen.staleness(parts, likeness))
            seen.parts.update(map(frozenset, parts))
            seen.pairs.update(frozenset(pair) for part in parts for pair in combinations(part, 2))
            orders = (seen.take(_orders(part, randomness)) for part in parts)
            yield (*(_padded(order, seats) for order in orders), *solos)

    name = "groups" if seats == SEATS else f"groups of {seats}"
    return Scheme(f"{name}, one out" if one_out else name, seats, plans, one_out)


def _singly(
    candidates: Sequence[Candidate], _seed: int, _likeness: Likeness
) -> Iterator[tuple[Seating, ...]]:
    together, alone = _sorted(candidates)
    while True:
        yield tuple((one,) for one in (*together, *alone))


def _pairwise(
    candidates: Sequence[Candidate], seed: int, likeness: Likeness
) -> Iterator[tuple[Seating, ...]]:
    return map(_pairs, in_groups().plans(candidates, seed, likeness))


def _pairs(parts: Sequence[Seating]) -> tuple[Seating, ...]:
    sitting = (tuple(filter(None, part)) for part in parts)
    return tuple(
        pair
        for part in sitting
        for pair in (permutations(part, 2) if len(part) > 1 else [(part[0], None)])
    )


SINGLY = Scheme("singly", 1, _singly)
"""Every candidate by itself: the paper's ablation."""
PAIRS = Scheme("pairs", 2, _pairwise)
"""Each two members of a part of four in both orders; who is alone is compared with no change at all."""


@dataclass(slots=True)
class _Seen:
    """What earlier votes have used up."""

    parts: Counter[frozenset[PatchId]] = field(default_factory=Counter)
    pairs: Counter[frozenset[PatchId]] = field(default_factory=Counter)
    places: Counter[tuple[int, PatchId]] = field(default_factory=Counter)
    orders: Counter[tuple[PatchId, ...]] = field(default_factory=Counter)
    """Every order so far, and every beginning of one."""

    def staleness(
        self, parts: Sequence[tuple[PatchId, ...]], likeness: Likeness
    ) -> tuple[int, float]:
        """Repeated parts first, then repeated neighbours and half-alike ones, each pair weighing at most alike."""
        repeated = sum(self.parts[frozenset(part)] for part in parts)
        pairs = [pair for part in parts for pair in combinations(sorted(part), 2)]
        return repeated, sum(
            self.pairs[frozenset(pair)] + 4 * likeness(*pair) * (1 - likeness(*pair))
            for pair in pairs
        )

    def take(self, orders: Sequence[tuple[PatchId, ...]]) -> tuple[PatchId, ...]:
        """The order whose places were visited least, new if it can be, with the longest known beginning."""
        chosen = min(
            orders,
            key=lambda order: (
                sum(self.places[place] for place in enumerate(order)),
                self.orders[order],
                -sum(order[:end] in self.orders for end in range(1, len(order))),
            ),
        )
        self.places.update(enumerate(chosen))
        self.orders.update(chosen[:end] for end in range(1, len(chosen) + 1))
        return chosen


def _sorted(candidates: Sequence[Candidate]) -> tuple[tuple[PatchId, ...], tuple[PatchId, ...]]:
    """Who sits with others and who alone, in an order that does not depend on arrival."""
    ordered = sorted(candidates, key=lambda one: (one.fingerprint, one.id))
    together = tuple(one.id for one in ordered if not one.solo)
    return together, tuple(one.id for one in ordered if one.solo)


def _absent(ids: Sequence[PatchId], randomness: random.Random) -> Iterator[PatchId | None]:
    """Whom each vote leaves out: all in turn, so that no two counts ever differ by more than one.

    Whoever would be the only one is never left out: nothing would be asked.
    """
    return cycle(randomness.sample(ids, len(ids))) if len(ids) > 1 else repeat(None)


def _partition(
    ids: Sequence[PatchId], parts: int, randomness: random.Random
) -> tuple[tuple[PatchId, ...], ...]:
    deck = iter(randomness.sample(ids, len(ids)))
    return tuple(tuple(islice(deck, size)) for size in _evenly(len(ids), parts))


def _orders(part: tuple[PatchId, ...], randomness: random.Random) -> Sequence[tuple[PatchId, ...]]:
    """All orders of a part, shuffled; of one too long for that, rotations of a few."""
    if len(part) <= SEATS:
        every = list(permutations(part))
        return randomness.sample(every, len(every))
    drawn = (tuple(randomness.sample(part, len(part))) for _ in range(_DRAWS))
    return [order[turn:] + order[:turn] for order in drawn for turn in range(len(part))]


def _padded(ids: tuple[PatchId, ...], seats: int) -> Seating:
    return ids + (None,) * (seats - len(ids))
