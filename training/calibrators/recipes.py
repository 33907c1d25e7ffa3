"""The recipes to fit a calibrator, simplest first, and the choice between them.

The choice follows the one-standard-error rule (Breiman et al., Classification and Regression Trees, 1984,
section 3.4.3): the simplest recipe whose held-out Brier score is within one standard error of the best.
Uninformative votes are thus dropped instead of getting a small weight by chance.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from model.calibration.calibration import (
    FEATURES,
    CalibrationMethod,
    Calibrator,
)
from model.evaluation.judgement_columns import Floats
from training.calibrators.evidence import PatchEvidence

FOLDS = 5


@dataclass(frozen=True, slots=True)
class CalibratorRecipe:
    """One way to fit a calibrator: the features it uses and the calibration method."""

    name: str
    features: tuple[str, ...]
    """Names of the features, from FEATURES."""
    kind: CalibrationMethod = CalibrationMethod.PLATT
    is_fitted: bool = True
    """False for a recipe that uses its one feature unchanged."""
    prior: Calibrator | None = field(default=None, compare=False)
    """A calibrator of other issues that the recipe uses unchanged; the rows must contradict it clearly."""


AS_IT_IS = CalibratorRecipe("consensus as it is", ("consensus",), is_fitted=False)
"""Consensus was calibrated on thousands of patches, so a few dozen issues must contradict it clearly."""
RECIPES = (
    AS_IT_IS,
    CalibratorRecipe("consensus", ("consensus",)),
    CalibratorRecipe("votes", ("votes",)),
    CalibratorRecipe("votes and consensus", ("votes", "consensus")),
    CalibratorRecipe("everything", FEATURES),
    CalibratorRecipe("everything, isotonic", FEATURES, CalibrationMethod.ISOTONIC),
)
"""From the simplest to the most flexible."""


def list_candidates(prior: Calibrator | None = None) -> tuple[CalibratorRecipe, ...]:
    """List all recipes, simplest first. With a `prior`, that is the simplest."""
    return (
        *(() if prior is None else (CalibratorRecipe("prior as it is", (), prior=prior),)),
        *RECIPES,
    )


def compute_brier(probabilities: Floats, rows: Sequence[PatchEvidence]) -> float:
    """Compute the Brier score, the weighted mean squared error of `probabilities` against the rows' labels.

    Rows with a probability of NaN are left out.
    """
    labels = np.asarray([row.correct for row in rows], dtype=np.float64)
    is_known = ~np.isnan(probabilities)
    errors = (probabilities[is_known] - labels[is_known]) ** 2
    return float(np.average(errors, weights=compute_weights(rows)[is_known]))


def assign_folds(issues: Iterable[str]) -> dict[str, int]:
    """Map each issue to its cross-validation fold, from 0 to FOLDS - 1.

    The fold depends on the hashes of the issues, not on their order.
    """
    return {issue: index % FOLDS for index, issue in enumerate(sort_issues(issues))}


def sort_issues(issues: Iterable[str]) -> list[str]:
    """Sort different issues by their hashes."""
    return sorted(set(issues), key=lambda issue: hashlib.sha256(issue.encode()).digest())


def compute_weights(rows: Sequence[PatchEvidence]) -> Floats:
    """Return the weights of the rows as an array."""
    return np.asarray([row.weight for row in rows], dtype=np.float64)
