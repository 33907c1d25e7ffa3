"""Comparisons that `swiss` and `pairwise` need, with a simulated judge of known noise on labelled groups."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean

from model.domain import PatchId
from model.voting.grouping import PAIRS, Candidate
from model.voting.swiss import Comparison, fit_strengths, pair_round

Judge = Callable[[PatchId, PatchId], float]


def build_judge(
    labels: Sequence[bool], accuracy: float, first: float, draw: random.Random
) -> Judge:
    """A judge that prefers the right patch with a chance of `accuracy`, and leans to the first seat by `first`."""

    def judge(left: PatchId, right: PatchId) -> float:
        gap = labels[int(left)] - labels[int(right)]
        chance = 0.5 + gap * (accuracy - 0.5) + first
        return float(draw.random() < min(0.99, max(0.01, chance)))

    return judge


def play_swiss(players: Sequence[PatchId], judge: Judge, budget: int, seed: int) -> list[dict]:
    """The strengths after each comparison, up to `budget`. A round that is not over has the strengths before it."""
    games, curve = [], []
    while len(games) < budget:
        games += [Comparison(pair, judge(*pair)) for pair in pair_round(players, games, seed)]
        strengths = fit_strengths(players, games)
        curve += [curve[-1] if curve else strengths] * (len(games) - len(curve) - 1) + [strengths]
    return curve[:budget]


def play_pairwise(players: Sequence[PatchId], judge: Judge, seed: int) -> tuple[dict, int]:
    """The share of wins after one vote of `pairwise`, and its number of comparisons."""
    wins, shown = Counter(), Counter()
    seats = [Candidate(player, player) for player in players]
    plan = next(PAIRS.plans(seats, seed, lambda _left, _right: 0.0))
    for left, right in plan:
        points = judge(left, right)
        wins.update({left: points, right: 1 - points})
        shown.update([left, right])
    return {player: wins[player] / shown[player] for player in players}, len(plan)


def rate_choice(scores: dict, labels: Sequence[bool]) -> float:
    """The chance that the patch with the best score is correct; ties are drawn."""
    best = max(scores.values())
    return fmean(labels[int(player)] for player, score in scores.items() if score == best)


def measure_group(
    name: str, labels: Sequence[bool], noise: tuple[float, float], repeats: int, budget: int
) -> tuple[float, list[float], int]:
    """Mean rate of right choices of one vote of `pairwise`, of `swiss` by comparisons, and pairwise's comparisons.

    `noise` is the judge's accuracy and its lean to the first seat. `name` makes the draws of each group its own.
    """
    players = [PatchId(f"{number}") for number in range(len(labels))]
    pairs, curves, asked = [], [], 0
    for repeat in range(repeats):
        draw = random.Random(f"{name} {repeat}")
        seed = draw.getrandbits(30)
        judge = build_judge(labels, *noise, draw)
        scores, asked = play_pairwise(players, judge, seed)
        pairs.append(rate_choice(scores, labels))
        rounds = play_swiss(players, judge, budget, seed)
        curves.append([rate_choice(strengths, labels) for strengths in rounds])
    return fmean(pairs), [fmean(column) for column in zip(*curves, strict=True)], asked


def find_needed(groups: Sequence[tuple[float, list[float], int]]) -> int:
    """The fewest comparisons with which `swiss` is as often right as one vote of `pairwise`, over all groups."""
    target = fmean(pairwise for pairwise, _, _ in groups)
    means = [fmean(column) for column in zip(*(curve for _, curve, _ in groups), strict=True)]
    return next((count for count, mean in enumerate(means, 1) if mean >= target), len(means) + 1)


def bound_needed(
    groups: Sequence[tuple[float, list[float], int]], draws: int = 500
) -> tuple[int, int]:
    """The 95 % interval of `find_needed`, by drawing groups again."""
    draw = random.Random(1)
    counts = sorted(find_needed(draw.choices(groups, k=len(groups))) for _ in range(draws))
    return counts[round(0.025 * draws)], counts[round(0.975 * draws) - 1]
