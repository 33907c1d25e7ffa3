"""A tournament of patches by pairwise comparisons: which pairs come next, and how strong each patch is (pure).

V1 (arXiv 2603.04304) finds the best of several solutions in two phases. It first compares every solution a few times,
and then spends the rest on pairs of similar standing, because these are the most uncertain. V1 ranks by a win rate that
is weighted by the judge's margin. Our replies have no margin, so strengths are those of Bradley and Terry (1952), fitted
by the iteration of Hunter (2004, equation 3). The second phase compares contenders for the first place only: measured
on simulated judges, plain neighbours in the standings need as many comparisons as a round robin.
"""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from model.domain import PatchId

COVERAGE: Final = 2
"""The comparisons of each patch before the second phase begins."""
_ITERATIONS: Final = 500
_SETTLED: Final = 1e-4
"""The fit ends when no odds change by a larger share, or after _ITERATIONS."""

Pair = tuple[PatchId, PatchId]
"""Two patches in the order of their seats."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of two patches. `points` of the first are 1, 0.5 or 0; None where the reply was unreadable."""

    pair: Pair
    points: float | None


def fit_strengths(players: Sequence[PatchId], games: Sequence[Comparison]) -> dict[PatchId, float]:
    """Return each patch's chance to beat an average patch, between 0 and 1.

    The fit adds one draw against an average patch. So a patch without comparisons has one half, and a patch that won
    all of them stays below 1. Unreadable comparisons count for nobody.
    """
    points = dict.fromkeys(players, 0.5)
    met: dict[PatchId, Counter[PatchId]] = {player: Counter() for player in players}
    for game in games:
        if game.points is None:
            continue
        first, second = game.pair
        points[first] += game.points
        points[second] += 1 - game.points
        met[first][second] += 1
        met[second][first] += 1
    odds = dict.fromkeys(players, 1.0)
    for _ in range(_ITERATIONS):
        before, odds = odds, _improve_odds(odds, points, met)
        if all(abs(odds[player] / before[player] - 1) < _SETTLED for player in players):
            break
    return {player: value / (1 + value) for player, value in odds.items()}


def _improve_odds(
    odds: Mapping[PatchId, float],
    points: Mapping[PatchId, float],
    met: Mapping[PatchId, Mapping[PatchId, int]],
) -> dict[PatchId, float]:
    """Do one iteration of the fit. The draw against an average patch has the odds 1 on its other side."""
    return {
        player: points[player]
        / (
            1 / (value + 1)
            + sum(count / (value + odds[rival]) for rival, count in met[player].items())
        )
        for player, value in odds.items()
    }


def pair_round(
    players: Sequence[PatchId], games: Sequence[Comparison], seed: int
) -> tuple[Pair, ...]:
    """Return the pairs of the next round: at most half as many as there are patches; empty below two patches.

    Until each patch has been compared COVERAGE times, every patch plays once, with an odd number all but one. After
    that, contenders for the first place meet. `seed` and the number of games decide ties. Seats alternate, first within
    a pair and then for each patch, so that a judge who prefers a seat decides little.
    """
    order = random.Random(seed + len(games)).sample(sorted(players), len(players))
    strengths = fit_strengths(players, games)
    met = Counter(frozenset(game.pair) for game in games)
    played = Counter(player for game in games for player in game.pair)
    lead = Counter(game.pair[0] for game in games)
    lead.subtract(game.pair[1] for game in games)
    if all(played[player] >= COVERAGE for player in players):
        pairs = _pair_contenders(order, strengths, met, played)
    else:
        pairs = _pair_everybody(order, strengths, met, lead)
    ahead = Counter(game.pair for game in games)
    return tuple(_choose_seats(pair, ahead, lead) for pair in pairs)


def _choose_seats(pair: Pair, ahead: Counter[Pair], lead: Counter[PatchId]) -> Pair:
    """Return the pair in the order that it had less often, else with the patch first that was first less often."""
    first, second = pair
    turned = (second, first)
    return min(pair, turned, key=lambda seats: (ahead[seats] - ahead[seats[::-1]], lead[seats[0]]))


def _pair_everybody(
    order: Sequence[PatchId],
    strengths: Mapping[PatchId, float],
    met: Counter[frozenset[PatchId]],
    lead: Counter[PatchId],
) -> list[Pair]:
    """Pair neighbours in the standings that met least. With an odd number, a patch with the most games rests.

    `lead` counts the first seats of a patch minus its second ones. Among equal pairs, patches with opposite leads meet.
    """
    free = set(order)
    if len(order) % 2:
        free.remove(
            max(
                order,
                key=lambda player: sum(count for pair, count in met.items() if player in pair),
            )
        )

    def rate(pair: Pair) -> tuple[float, ...]:
        first, second = pair
        gap = abs(strengths[first] - strengths[second])
        return met[frozenset(pair)], abs(lead[first] + lead[second]), gap

    pairs: list[Pair] = []
    for pair in sorted(combinations(order, 2), key=rate):
        if free.issuperset(pair):
            free.difference_update(pair)
            pairs.append(pair)
    return pairs


def _pair_contenders(
    order: Sequence[PatchId],
    strengths: Mapping[PatchId, float],
    met: Counter[frozenset[PatchId]],
    played: Counter[PatchId],
) -> list[Pair]:
    """Pair patches of the better half that may yet be the best: strong or little compared, and seldom together."""
    # the optimistic strength is about one standard error above the strength
    hopes = {player: strengths[player] + 0.5 / math.sqrt(1 + played[player]) for player in order}
    better = sorted(order, key=lambda player: -hopes[player])[: max(2, (len(order) + 1) // 2)]
    ranked = sorted(
        combinations(better, 2),
        key=lambda pair: 0.5 * met[frozenset(pair)] - hopes[pair[0]] - hopes[pair[1]],
    )
    return ranked[: len(order) // 2]
