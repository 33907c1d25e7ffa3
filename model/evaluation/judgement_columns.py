"""Judged patches and groups as columns of numbers, which metrics are computed from (pure).

A decision is taken from the *belief*: above a half correct, below incorrect. Exactly a half, and no opinion at all,
is a coin toss and counts half as each, so silence earns no more than chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from model.domain import Verdict
from model.evaluation.judged_group import JudgedGroup, JudgedPatch
from model.voting.selection import best_at_k

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Judged patches and groups as columns of equal length; truths, claims and whether something is believed are 0 or 1, NaN where there is none."""

    belief: Floats
    """0…1, a half where there is no opinion."""
    told: Floats
    """1 where there is one."""
    label: Floats
    claim: Floats
    """NaN for unsure and not judged."""
    exact: Floats
    """Per group: the chance that all its patches are decided rightly."""
    best: Floats
    """Per group: the share of correct ones among those believed most."""
    base: Floats
    """Per group: the share of correct patches, which is a random pick's."""
    any_correct: Floats
    """Per group: a correct patch is among them, which is the most that picking can reach."""
    asked: Floats
    """Per group: votes asked for."""
    valid: Floats
    """Per group: votes that could be read."""
    forced: Floats
    """Per group: of those, read after the reply was continued."""

    def take(self, patches: Indices, groups: Indices) -> Self:
        """Some rows, each as often as it is named."""
        per_patch = (self.belief, self.told, self.label, self.claim)
        per_group = (self.exact, self.best, self.base, self.any_correct)
        votes = (self.asked, self.valid, self.forced)
        return type(self)(
            *(column[patches] for column in per_patch),
            *(column[groups] for column in (*per_group, *votes)),
        )


def columns(judged: Sequence[JudgedGroup]) -> Columns:
    """The columns of judged groups, patches in their order."""
    beliefs = [array([or_half(one.belief) for one in group.patches]) for group in judged]
    labels = [array([one.resolved for one in group.patches]) for group in judged]
    claims = [_CLAIMS[one.verdict] for group in judged for one in group.patches]
    pairs = list(zip(beliefs, labels, strict=True))
    return Columns(
        belief=np.concatenate([*beliefs, array([])]),
        told=array([one.belief is not None for group in judged for one in group.patches]),
        label=np.concatenate([*labels, array([])]),
        claim=array(claims),
        exact=array([float(np.prod(rightness(belief, label))) for belief, label in pairs]),
        best=array([_best(group.patches) for group in judged]),
        base=array([label.mean() for label in labels]),
        any_correct=array([label.max() for label in labels]),
        asked=array([group.asked for group in judged]),
        valid=array([group.valid for group in judged]),
        forced=array([group.forced for group in judged]),
    )


def constant(judged: Sequence[JudgedGroup], belief: float) -> Columns:
    """The columns of a predictor that believes the same of every patch: 1, 0, or a half for a coin."""
    verdict = {1.0: Verdict.CORRECT, 0.0: Verdict.INCORRECT}.get(belief, Verdict.UNSURE)
    return columns(
        [
            replace(
                group,
                patches=tuple(
                    replace(one, score=belief, probability=None, rank=None, verdict=verdict)
                    for one in group.patches
                ),
            )
            for group in judged
        ]
    )


def or_half(belief: float | None) -> float:
    """A belief; a half where there is none."""
    return 0.5 if belief is None else belief


def array(values: Sequence[float]) -> Floats:
    """A column."""
    return np.asarray(values, dtype=np.float64)


def accepted(belief: Floats) -> Floats:
    """1 above a half, 0 below, a half at a half."""
    return (np.sign(belief - 0.5) + 1) / 2


def rightness(belief: Floats, label: Floats) -> Floats:
    """1 where the decision is the truth, 0 where it isn't, a half for a coin toss."""
    return 1 - np.abs(accepted(belief) - label)


def _best(patches: Sequence[JudgedPatch]) -> float:
    return best_at_k([(one.standing, one.resolved) for one in patches], len(patches))


_CLAIMS = {
    Verdict.CORRECT: 1.0,
    Verdict.INCORRECT: 0.0,
    Verdict.UNSURE: float("nan"),
    Verdict.NOT_JUDGED: float("nan"),
}
