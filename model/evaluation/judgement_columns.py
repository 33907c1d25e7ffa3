"""Arrange judged patches and groups as numpy columns, from which metrics are computed (pure).

The decision on a patch follows its *belief*: correct above 0.5, incorrect below. A belief of exactly 0.5, or
none, is a coin toss and counts half. Silence therefore earns no more than chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from model.domain import Verdict
from model.evaluation.judged_group import JudgedGroup, JudgedPatch
from model.voting.selection import compute_best_at_k

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class JudgementColumns:
    """Judged patches and groups as columns, from which metrics are computed.

    `belief`, `has_belief`, `label` and `claim` have one row per patch. The other columns have one row per group.
    """

    belief: Floats
    """From 0 to 1; 0.5 for a patch without a belief."""
    has_belief: Floats
    """1 for a patch with a belief, else 0."""
    label: Floats
    """1 for a correct patch, 0 for an incorrect one, or the probability that it is correct."""
    claim: Floats
    """1 for a verdict of correct, 0 for incorrect, NaN for unsure and not judged."""
    exact: Floats
    """Chance that all patches of the group are decided correctly."""
    best: Floats
    """Share of correct patches among those with the highest standing."""
    base: Floats
    """Share of correct patches, which is what a random pick reaches."""
    any_correct: Floats
    """1 where the group holds a correct patch, which is the best that any pick can reach."""
    asked: Floats
    """Votes requested."""
    valid: Floats
    """Readable votes."""
    forced: Floats
    """Votes that became readable only after the reply was continued."""

    def take(self, patches: Indices, groups: Indices) -> Self:
        """Return columns that hold only the rows numbered `patches` and `groups`, in this order. Rows may repeat."""
        per_patch = (self.belief, self.has_belief, self.label, self.claim)
        per_group = (self.exact, self.best, self.base, self.any_correct)
        votes = (self.asked, self.valid, self.forced)
        return type(self)(
            *(column[patches] for column in per_patch),
            *(column[groups] for column in (*per_group, *votes)),
        )


def build_columns(judged: Sequence[JudgedGroup]) -> JudgementColumns:
    """Build the columns of judged groups. Groups and their patches keep their order."""
    beliefs = [
        to_array([default_to_half(patch.belief) for patch in group.patches]) for group in judged
    ]
    labels = [to_array([patch.resolved for patch in group.patches]) for group in judged]
    claims = [_CLAIMS[patch.verdict] for group in judged for patch in group.patches]
    pairs = list(zip(beliefs, labels, strict=True))
    return JudgementColumns(
        belief=np.concatenate([*beliefs, to_array([])]),
        has_belief=to_array(
            [patch.belief is not None for group in judged for patch in group.patches]
        ),
        label=np.concatenate([*labels, to_array([])]),
        claim=to_array(claims),
        exact=to_array([float(np.prod(score_decisions(belief, label))) for belief, label in pairs]),
        best=to_array([_score_best(group.patches) for group in judged]),
        base=to_array([label.mean() for label in labels]),
        any_correct=to_array([label.max() for label in labels]),
        asked=to_array([group.asked for group in judged]),
        valid=to_array([group.valid for group in judged]),
        forced=to_array([group.count_forced_votes() for group in judged]),
    )


def build_constant_columns(judged: Sequence[JudgedGroup], belief: float) -> JudgementColumns:
    """Build the columns that `judged` would have if every patch had this belief: 1, 0 or 0.5.

    The verdicts are then correct for 1, incorrect for 0, and unsure for 0.5.
    """
    verdict = {1.0: Verdict.CORRECT, 0.0: Verdict.INCORRECT}.get(belief, Verdict.UNSURE)
    return build_columns(
        [
            replace(
                group,
                patches=tuple(
                    replace(patch, score=belief, probability=None, rank=None, verdict=verdict)
                    for patch in group.patches
                ),
            )
            for group in judged
        ]
    )


def default_to_half(belief: float | None) -> float:
    """Return `belief`, or 0.5 if it is None."""
    return 0.5 if belief is None else belief


def to_array(values: Sequence[float]) -> Floats:
    """Convert a sequence of numbers to a float64 array."""
    return np.asarray(values, dtype=np.float64)


def decide_acceptance(belief: Floats) -> Floats:
    """Map each belief to a decision: 1 (accepted) above 0.5, 0 (rejected) below, 0.5 at exactly 0.5."""
    return (np.sign(belief - 0.5) + 1) / 2


def score_decisions(belief: Floats, label: Floats) -> Floats:
    """Score the decision that follows from each belief: 1 if the label agrees, 0 if it does not.

    A belief of 0.5 scores 0.5. A label may be the probability that the patch is correct; scores then lie between.
    """
    return 1 - np.abs(decide_acceptance(belief) - label)


def _score_best(patches: Sequence[JudgedPatch]) -> float:
    return compute_best_at_k([(patch.standing, patch.resolved) for patch in patches], len(patches))


_CLAIMS = {
    Verdict.CORRECT: 1.0,
    Verdict.INCORRECT: 0.0,
    Verdict.UNSURE: float("nan"),
    Verdict.NOT_JUDGED: float("nan"),
}
