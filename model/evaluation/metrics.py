"""How right a verifier is: metrics over labelled patches (pure).

Every patch counts, also one that nobody dared to decide: the decision is forced as in `columns.py`. What a verifier
really claims, and how often it is right when it does, stands beside it: `claimed`, `claimed_accuracy`, `precision`.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from model.evaluation.judged_group import JudgedGroup
from model.evaluation.judgement_columns import Columns, Floats, Indices, accepted, array, rightness
from model.voting.selection import best_at_k, best_at_k_sampled, by_majority

BINS = 10
"""Of the reliability diagram and of ECE, with equally many patches each."""
SURE = 0.8
"""The belief from which `precision_when_sure` counts a patch as accepted."""


Metric = Callable[[Columns], float]


def by_standing(group: JudgedGroup, count: int) -> float:
    """Chance that the patch standing highest among `count` drawn from the group is correct, over every draw.

    The opinions are those that were given with the whole group to look at.
    """
    return best_at_k([(one.standing, one.resolved) for one in group.patches], count)


def by_most(group: JudgedGroup, count: int) -> float:
    """Chance that the edit that most of `count` patches drawn from the group make is correct, counted anew in each draw."""
    labels = [one.resolved for one in group.patches]

    def select(places: Sequence[int]) -> list[int]:
        shares = by_majority([group.patches[at].edit for at in places])
        most = max((share for share in shares if share is not None), default=None)
        return [at for at, share in zip(places, shares, strict=True) if share == most]

    return best_at_k_sampled(select, labels, count)


def best_at(
    judged: Sequence[JudgedGroup],
    count: int,
    chosen: Callable[[JudgedGroup, int], float] = by_standing,
) -> float:
    """Best@K for K = `count`: the mean of what is `chosen` in the groups with at least K patches; NaN without any."""
    large = [group for group in judged if len(group.patches) >= count]
    return _mean(array([chosen(group, count) for group in large]))


def tells_edits(judged: Sequence[JudgedGroup]) -> bool:
    """Whether it is known which patches make the same edit; older run files don't tell."""
    patches = (one for group in judged for one in group.patches)
    return all(one.edit is not None or not one.edited_lines for one in patches)


def accuracy(of: Columns) -> float:
    """Share of patches decided rightly."""
    return _mean(rightness(of.belief, of.label))


def f1(of: Columns) -> float:
    """Harmonic mean of precision and recall of `correct`; 0 when no patch is correct or held to be."""
    hits, false_alarms, misses, _ = _confusion(of)
    return _ratio(2 * hits, 2 * hits + false_alarms + misses, otherwise=0.0)


def exact_match(of: Columns) -> float:
    """Share of groups with every patch decided rightly."""
    return _mean(of.exact)


def balanced_accuracy(of: Columns) -> float:
    """Mean of the accuracies on correct and on incorrect patches; NaN unless there are both."""
    hits, false_alarms, misses, rejections = _confusion(of)
    return (_ratio(hits, hits + misses) + _ratio(rejections, rejections + false_alarms)) / 2


def mcc(of: Columns) -> float:
    """Matthews correlation of decision and truth, -1…1; 0 where one of them never changes."""
    hits, false_alarms, misses, rejections = _confusion(of)
    product = (
        (hits + false_alarms)
        * (hits + misses)
        * (rejections + false_alarms)
        * (rejections + misses)
    )
    return _ratio(hits * rejections - false_alarms * misses, product**0.5, otherwise=0.0)


def auroc(of: Columns) -> float:
    """Chance that a correct patch is believed more than an incorrect one, ties half; NaN unless there are both."""
    correct, incorrect = of.belief[of.label == 1], np.sort(of.belief[of.label == 0])
    if not len(correct) or not len(incorrect):
        return float("nan")
    below = np.searchsorted(incorrect, correct, "left") + np.searchsorted(
        incorrect, correct, "right"
    )
    return float(below.mean() / 2 / len(incorrect))


def brier(of: Columns) -> float:
    """Mean squared distance of belief and truth; a coin has 0.25."""
    return _mean((of.belief - of.label) ** 2)


def ece(of: Columns) -> float:
    """Expected calibration error over BINS bins of equal mass: how far beliefs are from what came true.

    Of patches with a belief alone: no opinion is no belief of a half. NaN when there is none.
    """
    told = of.told == 1
    belief, label = of.belief[told], of.label[told]
    if not len(belief):
        return float("nan")
    gaps = np.bincount(equal_mass(belief), weights=belief - label)
    return float(np.abs(gaps).sum() / len(belief))


def equal_mass(beliefs: Floats, bins: int = BINS) -> Indices:
    """The bin of each belief, 0 upwards; equal beliefs share one, so that their order can't matter."""
    _, place, counts = np.unique(beliefs, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    return np.asarray((middle * bins / len(beliefs)).astype(np.intp)[place])


def binned(beliefs: Floats) -> list[Indices]:
    """The rows of each bin of a reliability diagram, beliefs ascending; no bin is empty."""
    place = equal_mass(beliefs)
    return [np.flatnonzero(place == one) for one in np.unique(place)]


def diagram(of: Columns) -> list[Indices]:
    """The rows of each bin, of patches with a belief."""
    told = np.flatnonzero(of.told == 1)
    return [told[rows] for rows in binned(of.belief[told])]


def claimed(of: Columns) -> float:
    """Share of patches with a verdict that is a claim: correct or incorrect, not unsure or not judged."""
    return _mean((~np.isnan(of.claim)).astype(np.float64))


def claimed_accuracy(of: Columns) -> float:
    """Share of claims that are right; NaN when there is none."""
    made = ~np.isnan(of.claim)
    return _mean((of.claim[made] == of.label[made]).astype(np.float64))


def precision(of: Columns) -> float:
    """Share of patches claimed to be correct that are; NaN when there is none."""
    return _mean(of.label[of.claim == 1])


def precision_when_sure(of: Columns) -> float:
    """Share of patches believed from SURE upwards that are correct; NaN when there is none."""
    return _mean(of.label[of.belief >= SURE])


def format_valid(of: Columns) -> float:
    """Share of votes asked for that could be read; NaN for a verifier without votes."""
    return _ratio(of.valid.sum(), of.asked.sum())


def forced(of: Columns) -> float:
    """Share of votes asked for that could be read only after the reply was continued."""
    return _ratio(of.forced.sum(), of.asked.sum())


def best_of_group(of: Columns) -> float:
    """Chance that the patch believed most in its group is correct, ties averaged."""
    return _mean(of.best)


def random_of_group(of: Columns) -> float:
    """The same for a patch picked at random."""
    return _mean(of.base)


def oracle_of_group(of: Columns) -> float:
    """The same for who knows the truth."""
    return _mean(of.any_correct)


METRICS: Mapping[str, Metric] = {
    "accuracy": accuracy,
    "f1": f1,
    "exact_match": exact_match,
    "balanced_accuracy": balanced_accuracy,
    "mcc": mcc,
    "auroc": auroc,
    "brier": brier,
    "ece": ece,
    "claimed": claimed,
    "claimed_accuracy": claimed_accuracy,
    "precision": precision,
    "precision_when_sure": precision_when_sure,
    "format_valid": format_valid,
    "forced": forced,
    "best_of_group": best_of_group,
    "random": random_of_group,
    "oracle": oracle_of_group,
}
"""By their names in the document."""


def _confusion(of: Columns) -> tuple[float, float, float, float]:
    """Hits, false alarms, misses and right rejections of `correct`, in patches."""
    taken = accepted(of.belief)
    hits = float((taken * of.label).sum())
    false_alarms = float(taken.sum()) - hits
    misses = float(of.label.sum()) - hits
    return hits, false_alarms, misses, len(taken) - hits - false_alarms - misses


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _ratio(part: float, whole: float, otherwise: float = float("nan")) -> float:
    return float(part / whole) if whole else otherwise
