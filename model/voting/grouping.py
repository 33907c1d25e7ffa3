"""This module assigns candidates to seats, in another order for every vote (pure).

A group of the paper has four seats. Fewer patches get padding, more patches are partitioned (R4P, section 3).
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, cycle, islice, permutations, repeat

from model.domain import PatchId

SEATS = 4
"""N of the paper: the number of patches that the verifier was trained to judge together."""

_DRAWS = 16
"""The number of random partitions, or orders of a long part, of which each vote takes the best."""

Seating = tuple[PatchId | None, ...]
"""One part of a group, seat 1 first. None is empty padding, always last."""

Likeness = Callable[[PatchId, PatchId], float]
"""A function that returns how alike two patches are, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A patch that waits for a seat in a prompt. Equal edits have equal fingerprints."""

    id: PatchId
    fingerprint: str
    sits_alone: bool = False
    """The patch is too long to share a prompt."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """A way to divide the candidates of a group into prompts, with a seating for each vote."""

    name: str
    seats: int
    """The number of seats in one prompt."""
    plans: "Callable[[Sequence[Candidate], int, Likeness], Iterator[tuple[Seating, ...]]]"
    """A function of candidates, a seed and their likeness. It yields the seatings of each vote, without end."""
    leaves_one_out: bool = False
    """Every vote leaves out one candidate, to find verdicts that depend on a rival."""


def rate_half_likeness(likeness: float) -> float:
    """Rate how far two patches are from being equal and from having nothing in common: 0 for both, 1 half way.

    `likeness` is 0 to 1. R4P (section 5.3, figure 9) finds that a verifier errs most between the two, and advises groups
    of very high or very low similarity. The paper gives no measure; this parabola is ours.
    """
    return 4 * likeness * (1 - likeness)


def share_seats(candidates: Sequence[Candidate]) -> dict[PatchId, PatchId]:
    """Return for each candidate's id the id of the candidate that takes the seat for it.

    That is the smallest id among candidates with equal fingerprints.
    """
    first: dict[str, PatchId] = {}
    for candidate in candidates:
        first[candidate.fingerprint] = min(
            candidate.id, first.get(candidate.fingerprint, candidate.id)
        )
    return {candidate.id: first[candidate.fingerprint] for candidate in candidates}


def compute_part_sizes(count: int, seats: int = SEATS) -> tuple[int, ...]:
    """Return the sizes of the parts of `count` patches: as few parts of at most `seats` as possible, nearly equal.

    The larger parts come first.
    """
    return _split_evenly(count, -(-count // seats))


def _split_evenly(count: int, parts: int) -> tuple[int, ...]:
    return tuple(count // parts + (part < count % parts) for part in range(parts))


def build_group_scheme(seats: int = SEATS, *, leave_one_out: bool = False) -> Scheme:
    """Build the scheme that seats every candidate once per vote, in parts of at most `seats`.

    With `leave_one_out`, each vote seats all candidates but one, in as many parts. The same candidates and seed give
    the same plan in any order, so a later run can continue an earlier one.

    Each vote takes the best of 16 random partitions, so a part seldom repeats while other partitions remain. The plan
    prefers new neighbours, and patches that are very alike or very unlike, because the verifier errs most between the
    two (R4P, section 5.3). Within a part each patch visits every seat equally often. Among the remaining orders it
    prefers a known beginning, which the engine's prefix cache serves.
    """

    def plans(
        candidates: Sequence[Candidate], seed: int, likeness: Likeness
    ) -> Iterator[tuple[Seating, ...]]:
        together, alone = _split_by_length(candidates)
        parts_needed = len(compute_part_sizes(len(together), seats))
        solos = tuple(_pad((patch,), seats) for patch in alone)
        randomness = random.Random(seed)
        history = _History()
        turns = _draw_absent(together, randomness) if leave_one_out else repeat(None)
        while True:
            absent = next(turns)
            seated = [patch for patch in together if patch != absent]
            drawn = (_draw_partition(seated, parts_needed, randomness) for _ in range(_DRAWS))
            # Random draws and the best of them are enough; an exact search would be exponential.
            parts = min(drawn, key=lambda parts: history.rate_repetition(parts, likeness))
            history.parts.update(map(frozenset, parts))
            history.pairs.update(
                frozenset(pair) for part in parts for pair in combinations(part, 2)
            )
            orders = (history.take(_draw_orders(part, randomness)) for part in parts)
            yield (*(_pad(order, seats) for order in orders), *solos)

    name = "groups" if seats == SEATS else f"groups of {seats}"
    return Scheme(f"{name}, one out" if leave_one_out else name, seats, plans, leave_one_out)


def _plan_single(
    candidates: Sequence[Candidate], _seed: int, _likeness: Likeness
) -> Iterator[tuple[Seating, ...]]:
    together, alone = _split_by_length(candidates)
    while True:
        yield tuple((patch,) for patch in (*together, *alone))


def _plan_pairs(
    candidates: Sequence[Candidate], seed: int, likeness: Likeness
) -> Iterator[tuple[Seating, ...]]:
    return map(_list_pairs, build_group_scheme().plans(candidates, seed, likeness))


def _list_pairs(parts: Sequence[Seating]) -> tuple[Seating, ...]:
    seated = (tuple(filter(None, part)) for part in parts)
    return tuple(
        pair
        for part in seated
        for pair in (permutations(part, 2) if len(part) > 1 else [(part[0], None)])
    )


SINGLY = Scheme("singly", 1, _plan_single)
"""Every candidate alone: the paper's ablation."""
PAIRS = Scheme("pairs", 2, _plan_pairs)
"""Every two candidates of a part of four, in both orders. A candidate that is alone is compared with an empty patch."""


@dataclass(slots=True)
class _History:
    """The parts, neighbours, places and orders of earlier votes."""

    parts: Counter[frozenset[PatchId]] = field(default_factory=Counter)
    pairs: Counter[frozenset[PatchId]] = field(default_factory=Counter)
    places: Counter[tuple[int, PatchId]] = field(default_factory=Counter)
    orders: Counter[tuple[PatchId, ...]] = field(default_factory=Counter)
    """Every order so far, and every beginning of an order."""

    def rate_repetition(
        self, parts: Sequence[tuple[PatchId, ...]], likeness: Likeness
    ) -> tuple[int, float]:
        """Rate how much a partition into `parts` repeats earlier ones; the lower the better.

        Returns (repeated parts, repeated pairs plus a penalty for half-alike pairs). `likeness` gives the similarity of
        two candidates, 0 to 1.
        """
        repeated = sum(self.parts[frozenset(part)] for part in parts)
        pairs = [pair for part in parts for pair in combinations(sorted(part), 2)]
        return repeated, sum(
            self.pairs[frozenset(pair)] + rate_half_likeness(likeness(*pair)) for pair in pairs
        )

    def take(self, orders: Sequence[tuple[PatchId, ...]]) -> tuple[PatchId, ...]:
        """Choose an order of seats and record it.

        It prefers seats that their patches seldom had, then a new order, then the longest beginning that an earlier
        order had.
        """
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


def _split_by_length(
    candidates: Sequence[Candidate],
) -> tuple[tuple[PatchId, ...], tuple[PatchId, ...]]:
    """Split candidates into those that share prompts and those that sit alone, whatever their order of arrival."""
    # The plan must not depend on the order in which pull requests arrived.
    ordered = sorted(candidates, key=lambda candidate: (candidate.fingerprint, candidate.id))
    together = tuple(candidate.id for candidate in ordered if not candidate.sits_alone)
    return together, tuple(candidate.id for candidate in ordered if candidate.sits_alone)


def _draw_absent(ids: Sequence[PatchId], randomness: random.Random) -> Iterator[PatchId | None]:
    """Yield the candidate that each vote leaves out: all in turn, so that counts differ by one at most.

    A single candidate is never left out, because the vote would be empty.
    """
    return cycle(randomness.sample(ids, len(ids))) if len(ids) > 1 else repeat(None)


def _draw_partition(
    ids: Sequence[PatchId], parts: int, randomness: random.Random
) -> tuple[tuple[PatchId, ...], ...]:
    deck = iter(randomness.sample(ids, len(ids)))
    return tuple(tuple(islice(deck, size)) for size in _split_evenly(len(ids), parts))


def _draw_orders(
    part: tuple[PatchId, ...], randomness: random.Random
) -> Sequence[tuple[PatchId, ...]]:
    """Return all orders of a part, shuffled. A part with too many orders gets rotations of a few random ones."""
    if len(part) <= SEATS:
        every = list(permutations(part))
        return randomness.sample(every, len(every))
    drawn = (tuple(randomness.sample(part, len(part))) for _ in range(_DRAWS))
    return [order[turn:] + order[:turn] for order in drawn for turn in range(len(part))]


def _pad(ids: tuple[PatchId, ...], seats: int) -> Seating:
    return ids + (None,) * (seats - len(ids))
