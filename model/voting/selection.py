"""Choosing among candidates by what is believed of them, and what a choice is worth (pure).

Beliefs are scores by patch; None is no opinion and ranks below every opinion.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations
from math import ceil, comb
from statistics import fmean

from model.domain import PatchId, PatchVerdict, Verdict
from model.errors import BadDiff
from model.patches.diff import fingerprint

SAMPLES = 1000
"""Subsamples that R2E-Gym's Best@K averages over."""
_TIE_BREAK = 0.01
"""Weight of the first verifier beside the second: enough to part ties, too little to turn a vote."""
_SETTLED = 0.1
"""Scores below this are left to those that the second verifier was not asked about."""

Scores = Mapping[PatchId, float | None]


def top_n(count: int) -> int:
    """How many of `count` candidates R2E-Gym's hybrid verifier goes on with: half of them, and at least three."""
    return max(3, ceil(count / 2))


def shortlist(scores: Scores, keep: int) -> frozenset[PatchId]:
    """The `keep` best; with them all that tie with the last of these, and all without an opinion: unknown is not bad."""
    known = sorted((score for score in scores.values() if score is not None), reverse=True)
    bar = known[min(keep, len(known)) - 1] if known else 0.0
    return frozenset(one for one, score in scores.items() if score is None or score >= bar)


def survivors(patches: Collection[PatchVerdict]) -> frozenset[PatchId]:
    """Whom the first of the paper's two rounds lets pass: the correct ones, else the undecided, else whom it judged."""
    rounds = (
        {Verdict.CORRECT},
        {Verdict.UNSURE},
        {Verdict.INCORRECT},
    )
    passing = (frozenset(one.id for one in patches if one.verdict in said) for said in rounds)
    return next(filter(None, passing), frozenset())


def composed(first: Scores, second: Scores) -> dict[PatchId, float | None]:
    """One ranking of two: by the second where it has an opinion, ties parted by the first, all others below.

    `second` holds those that were put before the second verifier; they share the scores from _SETTLED on, whoever
    else is in the group. Where the second has no opinion, the first's stands.
    """
    return {
        one: _settled(score if second[one] is None else second[one], score)
        if one in second
        else _below(score)
        for one, score in first.items()
    }


def best(scores: Scores) -> tuple[PatchId, ...]:
    """The patch with the highest score, or all that tie for it, in their order; none when there is no opinion."""
    top = max((score for score in scores.values() if score is not None), default=None)
    return tuple(one for one, score in scores.items() if score is not None and score == top)


def best_at_k(judged: Sequence[tuple[float | None, bool]], k: int) -> float:
    """Best@K of (score, is correct) pairs: how often the top one of k drawn without replacement is correct, exactly.

    Ties count by their share of correct ones. The value that subsampling converges to. Raises ValueError unless
    there are at least k ≥ 1 pairs.
    """
    _check(k, len(judged))
    levels: dict[float, list[bool]] = {}
    for score, correct in judged:
        levels.setdefault(_rank(score), []).append(correct)
    left, total = len(judged), 0.0
    for _, labels in sorted(levels.items(), reverse=True):
        below = left - len(labels)
        total += (comb(left, k) - comb(below, k)) * fmean(labels)
        left = below
    return total / comb(len(judged), k)


def best_at_k_sampled(
    select: Callable[[Sequence[int]], Sequence[int]],
    labels: Sequence[bool],
    k: int,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
) -> float:
    """Best@K of a choice that depends on who else was drawn, as a majority does: by subsampling, or exactly.

    `select` is given k places in `labels` and returns those that tie for the choice; none counts as wrong. Every draw
    is tried where there are no more of them than samples.
    """
    _check(k, len(labels))
    drawn: Iterable[Sequence[int]] = combinations(range(len(labels)), k)
    if comb(len(labels), k) > samples:
        randomness = random.Random(seed)
        drawn = (sorted(randomness.sample(range(len(labels)), k)) for _ in range(samples))
    return fmean(fmean([labels[at] for at in select(places)] or [False]) for places in drawn)


def by_majority(edits: Sequence[str | None]) -> list[float | None]:
    """Scores by majority: the share of readable candidates that make the same edit; None for unreadable ones.

    An edit is its `edit_of`.
    """
    sizes = Counter(filter(None, edits))
    return [sizes[made] / sizes.total() if made else None for made in edits]


def edit_of(diff: str) -> str | None:
    """The normalised edit as 64 hex digits: the same for the same edit; None for what is empty or no unified diff."""
    try:
        return fingerprint(diff) if diff.strip() else None
    except BadDiff:
        return None


def _settled(score: float | None, other: float | None) -> float | None:
    if score is None:
        return None
    blend = score if other is None else (score + _TIE_BREAK * other) / (1 + _TIE_BREAK)
    return _SETTLED + (1 - _SETTLED) * blend


def _below(score: float | None) -> float | None:
    return None if score is None else _SETTLED * (1 - _TIE_BREAK) * score


def _rank(score: float | None) -> float:
    return -1.0 if score is None else score


def _check(k: int, count: int) -> None:
    if not 1 <= k <= count:
        raise ValueError(f"Best@{k} of {count} candidates: k has to be between 1 and {count}")
