"""What moves a patch's consensus score away from the mean of its group: likeness to rivals, size, or the issue's names.

The model is asked again with one kind of feature replaced by the group's mean. The change of the score is the effect of
that kind. Effects of several kinds need not add up, because the model combines features.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from model.rivals.features import list_columns, list_own_columns
from model.voting.verdict_summary import join_some

_LEAST_EFFECT: Final = 0.02
"""Smaller effects are not told."""


class FeatureKind(StrEnum):
    """A kind of feature, in the words of a reason."""

    LIKENESS = "its likeness to rivals"
    SIZE = "the size and shape of its edit"
    ISSUE = "the part of the issue that it touches"


@dataclass(frozen=True, slots=True)
class Prediction:
    """The probability that a patch is correct, and what each kind of feature adds to it or takes from it."""

    probability: float
    effects: Mapping[FeatureKind, float]


def predict_with_effects(
    predict: Callable[[NDArray[np.float64]], NDArray[np.float64]], rows: NDArray[np.float64]
) -> list[Prediction]:
    """Return the prediction of each patch of a group.

    `rows` holds features, of shape (patches, features). `predict` computes one probability for each row.
    """
    probabilities = predict(rows)
    columns = _list_kinds()
    replaced = [np.where(columns == kind, rows.mean(axis=0), rows) for kind in FeatureKind]
    # Shape (kinds, patches).
    effects = probabilities - predict(np.vstack(replaced)).reshape(len(FeatureKind), -1)
    return [
        Prediction(float(probability), dict(zip(FeatureKind, map(float, own), strict=True)))
        for probability, own in zip(probabilities, effects.T, strict=True)
    ]


def describe_effects(effects: Mapping[FeatureKind, float]) -> str:
    """Return a sentence about the effects that count, the largest first; an empty text if there is none."""
    counting = [kind for kind in effects if abs(effects[kind]) >= _LEAST_EFFECT]
    if not counting:
        return ""
    ordered = sorted(counting, key=lambda kind: -abs(effects[kind]))
    parts = [f"{_format(effects[kind])} from {kind}" for kind in ordered]
    return f"Compared with the mean of its group, its score gets {join_some(parts, len(parts))}."


def _format(effect: float) -> str:
    return f"{effect:+.2f}".replace("-", "\N{MINUS SIGN}")


@cache
def _list_kinds() -> NDArray[np.str_]:
    """Return the kind of each column of the features."""
    own = frozenset(list_own_columns())
    return np.array([_classify(column, own) for column in list_columns()])


def _classify(column: str, own: frozenset[str]) -> FeatureKind:
    name = column.removesuffix(" beyond rivals")
    if name.startswith("issue "):
        return FeatureKind.ISSUE
    if name in own or "size" in name or name == "larger than distinct":
        return FeatureKind.SIZE
    return FeatureKind.LIKENESS
