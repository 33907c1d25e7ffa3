"""This module chooses among candidates by their scores, and measures what a choice is worth (pure).

A score of None is no opinion and ranks below every opinion.
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
"""The number of subsamples in R2E-Gym's Best@K."""

Scores = Mapping[PatchId, float | None]


def compute_shortlist_size(count: int) -> int:
    """Return the size of the shortlist for `count` candidates: half of them, and at least three.

    R2E-Gym (section 4.3, equation 2) keeps the top n and gives no n. This rule is ours.
    """
    return max(3, ceil(count / 2))


def select_shortlist(scores: Scores, keep: int) -> frozenset[PatchId]:
    """Return the ids of the `keep` patches with the best scores, of all that tie with the last, and of unscored ones.

    `scores` maps patch ids to scores; None means no opinion.
    """
    ordered = sorted((score for score in scores.values() if score is not None), reverse=True)
    bar = ordered[min(keep, len(ordered)) - 1] if ordered else 0.0
    return frozenset(patch for patch, score in scores.items() if score is None or score >= bar)


def select_survivors(patches: Collection[PatchVerdict]) -> frozenset[PatchId]:
    """Return the ids of the patches that pass the first round of R4P's selection (section 5.2).

    These are the patches with the verdict correct. The rest is ours: without any, the unsure ones, and without these,
    the incorrect ones.
    """
    rounds = ({Verdict.CORRECT}, {Verdict.UNSURE}, {Verdict.INCORRECT})
    passing = (
        frozenset(patch.id for patch in patches if patch.verdict in verdicts) for verdicts in rounds
    )
    return next(filter(None, passing), frozenset())


def combine_scores(first: Scores, second: Scores) -> dict[PatchId, float | None]:
    """Return each patch's rank value from the scores of two verifiers: the second decides, the first breaks ties.

    `second` holds the patches of the shortlist, which rank above all other patches. Where the second verifier has no
    opinion, the first verifier's score counts. A value is a place among the distinct score pairs, divided by their
    number, so the best value is 1 and equal pairs share one. None means that neither verifier has an opinion.

    R2E-Gym (section 4.3, equation 2) adds the scores, and means the first to count in case of a tie. Here no score of
    the first verifier can outvote the smallest difference of the second.
    """
    keys = {patch: _build_sort_key(patch, score, second) for patch, score in first.items()}
    levels = sorted({key for key in keys.values() if key is not None})
    ranks = {key: place / len(levels) for place, key in enumerate(levels, 1)}
    return {patch: None if key is None else ranks[key] for patch, key in keys.items()}


def compute_best_at_k(judged: Sequence[tuple[float | None, bool]], k: int) -> float:
    """Compute Best@K exactly: how often the candidate with the best score of k random candidates is correct.

    `judged` holds a (score, is correct) pair for each candidate. The k candidates are drawn without replacement, and
    ties count by their share of correct ones. Subsampling converges to this value. Raises ValueError unless 1 ≤ k ≤ the
    number of pairs.
    """
    _check_k(k, len(judged))
    levels: dict[float, list[bool]] = {}
    for score, correct in judged:
        levels.setdefault(_fill_missing(score), []).append(correct)
    left, total = len(judged), 0.0
    for _, labels in sorted(levels.items(), reverse=True):
        below = left - len(labels)
        # The draws whose best score is on this level: all from here down, minus all below.
        total += (comb(left, k) - comb(below, k)) * fmean(labels)
        left = below
    return total / comb(len(judged), k)


def sample_best_at_k(
    select: Callable[[Sequence[int]], Sequence[int]],
    labels: Sequence[bool],
    k: int,
    *,
    samples: int = SAMPLES,
    seed: int = 0,
) -> float:
    """Estimate Best@K for a choice that depends on the other drawn candidates, such as a majority.

    `labels` say which candidates are correct. `select` gets k indices of `labels` and returns the indices that tie for
    the choice; an empty choice counts as wrong. The value is exact when there are at most `samples` draws. Raises
    ValueError unless 1 ≤ k ≤ the number of labels.
    """
    _check_k(k, len(labels))
    drawn: Iterable[Sequence[int]] = combinations(range(len(labels)), k)
    if comb(len(labels), k) > samples:
        randomness = random.Random(seed)
        drawn = (sorted(randomness.sample(range(len(labels)), k)) for _ in range(samples))
    return fmean(fmean([labels[index] for index in select(places)] or [False]) for places in drawn)


def score_by_majority(edits: Sequence[str | None]) -> list[float | None]:
    """Score each candidate by the share of readable candidates with the same edit; None for unreadable ones.

    An edit is the result of `fingerprint_edit`.
    """
    sizes = Counter(filter(None, edits))
    return [sizes[edit] / sizes.total() if edit else None for edit in edits]


def fingerprint_edit(diff: str) -> str | None:
    """Return 64 hex digits that are equal for diffs with equal edits; None for an empty or unreadable diff."""
    try:
        return fingerprint(diff) if diff.strip() else None
    except BadDiff:
        return None


def _build_sort_key(
    patch: PatchId, first: float | None, second: Scores
) -> tuple[bool, float, float] | None:
    """Build (is on the shortlist, deciding score, tie-breaking score); None without any opinion."""
    deciding = second.get(patch)
    deciding = first if deciding is None else deciding
    return None if deciding is None else (patch in second, deciding, _fill_missing(first))


def _fill_missing(score: float | None) -> float:
    return -1.0 if score is None else score


def _check_k(k: int, count: int) -> None:
    if not 1 <= k <= count:
        raise ValueError(f"Best@{k} of {count} candidates: k has to be between 1 and {count}")
