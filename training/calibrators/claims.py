"""Choose the thresholds above and below which a calibrator claims anything, and count its history."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from model.calibration.calibration import History
from model.evaluation.judgement_columns import Floats, Indices
from model.evaluation.wilson import compute_wilson_interval
from model.voting.thresholds import Thresholds
from training.calibrators.evidence import PatchEvidence


@dataclass(frozen=True, slots=True)
class ClaimTargets:
    """The least precision of claims, which the lower bound of a 95 % Wilson interval must reach."""

    accept: float = 0.8
    """For verdicts of correct. It is higher, because a false accept costs most."""
    reject: float = 0.7
    """For verdicts of incorrect."""
    share: float = 0.0
    """The least share of claims that are right, on either side and on these rows, besides the bound."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumns:
    """The labels of patches as columns, with an item per patch."""

    labels: Floats
    """1 for a correct patch, 0 for an incorrect one."""
    weights: Floats
    issues: Indices
    """A number, equal for patches of the same issue."""

    @classmethod
    def build(cls, rows: Iterable[PatchEvidence]) -> Self:
        """Build the columns of these rows."""
        rows = list(rows)
        issues = number_issues(rows)
        labels, weights = [row.correct for row in rows], [row.weight for row in rows]
        return cls(np.asarray(labels, np.float64), np.asarray(weights, np.float64), issues)

    def count_history(self) -> History:
        """Count the issues and patches that weigh anything. Weights are summed and rounded down."""
        correct, all_patches = float(self.weights @ self.labels), float(self.weights.sum())
        issues = len(np.unique(self.issues[self.weights > 0]))
        return History(issues, int(correct), int(all_patches - correct))

    def choose_thresholds(self, probabilities: Floats, targets: ClaimTargets) -> Thresholds:
        """Choose the thresholds as the function `choose_thresholds` does."""
        return Thresholds(
            self._find_furthest_bound(
                probabilities, probabilities > 0.5, self.labels, (targets.accept, targets.share)
            ),
            self._find_furthest_bound(
                -probabilities,
                probabilities < 0.5,
                1 - self.labels,
                (targets.reject, targets.share),
            ),
        )

    def _find_furthest_bound(
        self,
        certainties: Floats,
        is_on_side: NDArray[np.bool_],
        true: Floats,
        targets: tuple[float, float],
    ) -> float | None:
        """Find the least certain bound whose claims meet the targets, of the lower bound and of the share.

        The claims are at least as certain as the bound.
        """
        target, share = targets
        rows = np.flatnonzero(is_on_side & (self.weights > 0))
        rows = rows[np.argsort(-certainties[rows], kind="stable")]
        weights, bounds = self.weights[rows], certainties[rows]
        total, hits = np.cumsum(weights), np.cumsum(weights * true[rows])
        issues = np.cumsum(_add_to_squares(weights, self.issues[rows]))
        # as in count_effective_trials: Kish's number of issues times the mean weight, weighted by itself
        trials = total * np.cumsum(weights**2) / issues
        is_last = np.diff(bounds, append=-np.inf) < 0
        # the lower bound of a precision is below the precision itself
        for last in np.flatnonzero(is_last & (hits >= max(target, share) * total))[::-1]:
            successes = hits[last] / total[last] * trials[last]
            if compute_wilson_interval(float(successes), float(trials[last]))[0] >= target:
                return abs(float(bounds[last]))
        return None


def choose_thresholds(
    probabilities: Floats, rows: Iterable[PatchEvidence], targets: ClaimTargets
) -> Thresholds:
    """Choose the thresholds that claim most, while claims of correct and of incorrect each reach their target.

    A target is compared with the Wilson lower bound of the precision on these `rows`, whose probabilities are
    `probabilities`. `correct` needs a probability above 0.5, `incorrect` one below. A side that cannot reach its target
    claims nothing.
    """
    return LabelColumns.build(rows).choose_thresholds(probabilities, targets)


def count_history(rows: Iterable[PatchEvidence]) -> History:
    """Count the issues and patches of rows that weigh anything. Weights are summed and rounded down."""
    return LabelColumns.build(rows).count_history()


def number_issues(rows: Iterable[PatchEvidence]) -> Indices:
    """Return an array with the issue number of each row: equal for rows of the same issue."""
    return np.unique([row.issue for row in rows], return_inverse=True)[1]


def _add_to_squares(weights: Floats, issues: Indices) -> Floats:
    """Return by how much each row raises the sum of the squared weights of all issues, if the rows come in this order."""
    order = np.argsort(issues, kind="stable")
    sums = np.cumsum(weights[order])
    is_first = np.diff(issues[order], prepend=-1) > 0
    offsets = (sums - weights[order])[is_first][np.cumsum(is_first) - 1]
    before = np.empty(len(weights))
    before[order] = sums - weights[order] - offsets
    return weights * (2 * before + weights)
