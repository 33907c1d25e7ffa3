"""Metrics of a verifier over labelled patches (pure).

Every patch counts: undecided patches are decided by the rule in `judgement_columns`. `claimed`,
`claimed_accuracy` and `precision` measure only what the verifier claims.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import (
    Floats,
    Indices,
    JudgementColumns,
    decide_acceptance,
    score_decisions,
    to_array,
)
from model.voting.selection import compute_best_at_k, sample_best_at_k, score_by_majority

BINS = 10
"""Number of bins of the reliability diagram and of ECE, with equally many patches each."""
SURE = 0.8
"""Belief from which `precision_when_sure` counts a patch as accepted."""
RIGHT = 0.9
"""Share of decisions that must be right for `coverage_at_90`."""


Metric = Callable[[JudgementColumns], float]


def compute_best_by_rank(group: JudgedGroup, count: int) -> float:
    """Compute the chance that the best-ranked of `count` patches, drawn at random from the group, is correct.

    The chance is exact, over all draws. The ranks come from judging the whole group once; drawn patches are not judged
    again.
    """
    return compute_best_at_k([(patch.standing, patch.resolved) for patch in group.patches], count)


def compute_best_by_majority(group: JudgedGroup, count: int) -> float:
    """Estimate the chance that the most frequent edit among `count` patches, drawn from the group, is correct.

    The most frequent edit is determined anew in each draw. Ties are averaged.
    """
    labels = [patch.resolved for patch in group.patches]

    def select(places: Sequence[int]) -> list[int]:
        shares = score_by_majority([group.patches[index].edit for index in places])
        most = max((share for share in shares if share is not None), default=None)
        return [index for index, share in zip(places, shares, strict=True) if share == most]

    return sample_best_at_k(select, labels, count)


def compute_pair_accuracy(group: JudgedGroup) -> float:
    """Compute the share of a group's pairs of a correct and an incorrect patch in which the correct one ranks higher.

    Equal patches count a half, and a patch without rank and belief is below all others. The value is NaN without such a
    pair. R4P (section 5.2, figure 3b) measures pairs that are judged alone, as groups of two are here. Otherwise the ranks come
    from judging the whole group.
    """
    standings: dict[bool, list[float]] = {True: [], False: []}
    for patch in group.patches:
        standings[patch.resolved].append(-1.0 if patch.standing is None else patch.standing)
    # (correct patches, 1) against (incorrect patches): -1, 0 or 1 for each pair
    signs = np.sign(to_array(standings[True])[:, None] - to_array(standings[False]))
    return _compute_mean((signs.ravel() + 1) / 2)


def average_best_at_k(
    judged: Sequence[JudgedGroup],
    count: int,
    chosen: Callable[[JudgedGroup, int], float] = compute_best_by_rank,
) -> float:
    """Average Best@K over the groups with at least K = `count` patches; NaN if there is no such group.

    `chosen` computes the chance for one group that the patch chosen among `count` is correct.
    """
    large = [group for group in judged if len(group.patches) >= count]
    return _compute_mean(to_array([chosen(group, count) for group in large]))


def has_edits(judged: Sequence[JudgedGroup]) -> bool:
    """Return whether every judged patch that edits lines has the fingerprint of its edit.

    Older run files lack the fingerprints, so no majority can be computed from them.
    """
    patches = (patch for group in judged for patch in group.patches)
    return all(patch.edit is not None or not patch.edited_lines for patch in patches)


def compute_accuracy(columns: JudgementColumns) -> float:
    """Compute the share of patches whose belief is on the right side of 0.5; at 0.5 a patch counts half."""
    return _compute_mean(score_decisions(columns.belief, columns.label))


def compute_f1(columns: JudgementColumns) -> float:
    """Compute the F1 score of accepting correct patches: the harmonic mean of precision and recall.

    The result is 0 if no correct patch is accepted.
    """
    hits, false_alarms, misses, _ = _count_confusion(columns)
    return _compute_ratio(2 * hits, 2 * hits + false_alarms + misses, otherwise=0.0)


def compute_exact_match(columns: JudgementColumns) -> float:
    """Compute the share of groups in which every patch is decided correctly."""
    return _compute_mean(columns.exact)


def compute_balanced_accuracy(columns: JudgementColumns) -> float:
    """Compute the mean of the accuracies on correct and on incorrect patches; NaN unless both exist."""
    hits, false_alarms, misses, rejections = _count_confusion(columns)
    return (
        _compute_ratio(hits, hits + misses) + _compute_ratio(rejections, rejections + false_alarms)
    ) / 2


def compute_mcc(columns: JudgementColumns) -> float:
    """Compute Matthews' correlation of decisions and labels, from -1 to 1; 0 where either is constant."""
    hits, false_alarms, misses, rejections = _count_confusion(columns)
    product = (
        (hits + false_alarms)
        * (hits + misses)
        * (rejections + false_alarms)
        * (rejections + misses)
    )
    return _compute_ratio(hits * rejections - false_alarms * misses, product**0.5, otherwise=0.0)


def compute_auroc(columns: JudgementColumns) -> float:
    """Compute the chance that a correct patch has a higher belief than an incorrect one; ties count half.

    The result is NaN unless there are both correct and incorrect patches.
    """
    correct, incorrect = (
        columns.belief[columns.label == 1],
        np.sort(columns.belief[columns.label == 0]),
    )
    if not len(correct) or not len(incorrect):
        return float("nan")
    # the mean of both sides counts ties half
    below = np.searchsorted(incorrect, correct, "left") + np.searchsorted(
        incorrect, correct, "right"
    )
    return float(below.mean() / 2 / len(incorrect))


def compute_brier(columns: JudgementColumns) -> float:
    """Compute the Brier score: the mean squared difference of beliefs and labels; 0.25 if every belief is 0.5."""
    return _compute_mean((columns.belief - columns.label) ** 2)


def compute_ece(columns: JudgementColumns) -> float:
    """Compute the expected calibration error over BINS bins with about equally many patches.

    Patches without a belief do not count. The result is NaN if no patch has a belief.
    """
    has_belief = columns.has_belief == 1
    belief, label = columns.belief[has_belief], columns.label[has_belief]
    if not len(belief):
        return float("nan")
    gaps = np.bincount(assign_bins(belief), weights=belief - label)
    return float(np.abs(gaps).sum() / len(belief))


def assign_bins(beliefs: Floats, bins: int = BINS) -> Indices:
    """Return the bin number of each belief, from 0 for the lowest to at most `bins` - 1.

    The bins hold about equally many beliefs. Equal beliefs share a bin, so some bins can be empty.
    """
    _, place, counts = np.unique(beliefs, return_inverse=True, return_counts=True)
    # the bin of a group of equal beliefs follows from the middle of its ranks
    middle = np.cumsum(counts) - counts / 2
    return np.asarray((middle * bins / len(beliefs)).astype(np.intp)[place])


def split_into_bins(beliefs: Floats) -> list[Indices]:
    """Split beliefs into the bins of a reliability diagram; return the row numbers of each bin.

    The bin with the lowest beliefs comes first. No bin is empty.
    """
    place = assign_bins(beliefs)
    return [np.flatnonzero(place == number) for number in np.unique(place)]


def bin_reliability(columns: JudgementColumns) -> list[Indices]:
    """Split the patches with a belief into the bins of a reliability diagram.

    Returns the row numbers of `columns` in each bin, with the lowest beliefs first. No bin is empty.
    """
    believed = np.flatnonzero(columns.has_belief == 1)
    return [believed[rows] for rows in split_into_bins(columns.belief[believed])]


def compute_claim_rate(columns: JudgementColumns) -> float:
    """Compute the share of patches with a verdict of correct or incorrect."""
    return _compute_mean((~np.isnan(columns.claim)).astype(np.float64))


def compute_claim_accuracy(columns: JudgementColumns) -> float:
    """Compute the share of claims (verdicts of correct or incorrect) that are right; NaN without claims."""
    claimed = ~np.isnan(columns.claim)
    return _compute_mean((columns.claim[claimed] == columns.label[claimed]).astype(np.float64))


def compute_precision(columns: JudgementColumns) -> float:
    """Compute the share of correct patches among those with a verdict of correct; NaN without such verdicts."""
    return _compute_mean(columns.label[columns.claim == 1])


def compute_precision_when_sure(columns: JudgementColumns) -> float:
    """Compute the share of correct patches among those with a belief of 0.8 (SURE) or more; NaN without such."""
    return _compute_mean(columns.label[columns.belief >= SURE])


def compute_coverage(columns: JudgementColumns) -> float:
    """Compute the largest share of patches whose decisions are right at least nine times in ten (RIGHT).

    The patches are those whose belief is furthest from a half; equal distances are taken together. The limit is chosen
    on these patches, so it flatters the verifier.
    """
    if not len(columns.belief):
        return float("nan")
    order = np.argsort(-np.abs(columns.belief - 0.5), kind="stable")
    certainty = np.abs(columns.belief - 0.5)[order]
    right = np.cumsum(score_decisions(columns.belief, columns.label)[order])
    count, is_last = np.arange(1, len(order) + 1), np.diff(certainty, append=-1.0) < 0
    fit = count[is_last & (certainty > 0) & (right >= RIGHT * count)]
    return float(max(fit, default=0) / len(order))


def compute_valid_rate(columns: JudgementColumns) -> float:
    """Compute the share of requested votes that are readable; NaN if no votes were requested."""
    return _compute_ratio(columns.valid.sum(), columns.asked.sum())


def compute_forced_rate(columns: JudgementColumns) -> float:
    """Compute the share of requested votes that are forced: readable only after the reply was continued.

    The result is NaN if no votes were requested.
    """
    return _compute_ratio(columns.forced.sum(), columns.asked.sum())


def compute_best_of_group(columns: JudgementColumns) -> float:
    """Compute the share of groups whose best patch, by rank or else belief, is correct; ties are averaged."""
    return _compute_mean(columns.best)


def compute_random_of_group(columns: JudgementColumns) -> float:
    """Compute the chance that a random patch of a group is correct, averaged over groups."""
    return _compute_mean(columns.base)


def compute_oracle_of_group(columns: JudgementColumns) -> float:
    """Compute the share of groups with a correct patch: the upper bound of choosing one patch per group."""
    return _compute_mean(columns.any_correct)


METRICS: Mapping[str, Metric] = {
    "coverage_at_90": compute_coverage,
    "auroc": compute_auroc,
    "ece": compute_ece,
    "accuracy": compute_accuracy,
    "f1": compute_f1,
    "exact_match": compute_exact_match,
    "balanced_accuracy": compute_balanced_accuracy,
    "mcc": compute_mcc,
    "brier": compute_brier,
    "claimed": compute_claim_rate,
    "claimed_accuracy": compute_claim_accuracy,
    "precision": compute_precision,
    "precision_when_sure": compute_precision_when_sure,
    "best_of_group": compute_best_of_group,
    "random": compute_random_of_group,
    "oracle": compute_oracle_of_group,
    "format_valid": compute_valid_rate,
    "forced": compute_forced_rate,
}
"""Metrics by their names in the document, in the order in which `r4p evaluate` and its report list them."""


def _count_confusion(columns: JudgementColumns) -> tuple[float, float, float, float]:
    """Count hits, false alarms, misses and correct rejections of `correct`, in patches."""
    taken = decide_acceptance(columns.belief)
    hits = float((taken * columns.label).sum())
    false_alarms = float(taken.sum()) - hits
    misses = float(columns.label.sum()) - hits
    return hits, false_alarms, misses, len(taken) - hits - false_alarms - misses


def _compute_mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _compute_ratio(part: float, whole: float, otherwise: float = float("nan")) -> float:
    return float(part / whole) if whole else otherwise
