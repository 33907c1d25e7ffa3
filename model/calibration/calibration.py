"""A fitted calibrator turns a verifier's belief into the probability that a patch is correct (pure).

`training/calibrators/fitting.py` fits it. A calibrator is a logistic regression on a few features of the evidence, with
an isotonic curve on top where that was better on held-out issues. More votes for a patch never lower its probability.
Below a minimum of history there is no probability.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any

from model.verdict_json import Json
from model.voting.thresholds import Thresholds

SCHEMA = "r4p.calibrator/1"
RULES = 2
"""Version of the features. A calibrator with another version is refused."""

MIN_ISSUES = 30
MIN_PER_LABEL = 20
"""The fewest correct patches, and the fewest incorrect patches, that allow a probability."""

NO_HISTORY = "not enough history"
NO_OPINION = "no verifier has an opinion"

_EDGE = 0.01
"""Beliefs are clipped to this distance from 0 and 1 before the logit."""


class CalibrationMethod(StrEnum):
    """How a calibrator turns the logit of its regression into a probability."""

    PLATT = "platt"
    ISOTONIC = "isotonic"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The inputs of a calibrator about one patch. A field is None if it was not measured, or if there is no opinion."""

    score: float | None = None
    """The model's belief from 0 to 1, usually a share of votes."""
    valid: int = 0
    """The number of readable votes, or 0 when the belief is not a share of votes."""
    valid_share: float | None = None
    """The share of readable votes among all votes asked for."""
    forced_share: float | None = None
    """The share of forced votes among the readable votes."""
    consensus: float | None = None
    """The belief of the consensus verifier from 0 to 1."""

    @property
    def is_opinion(self) -> bool:
        """Whether the model or the consensus verifier has a belief."""
        return self.score is not None or self.consensus is not None


FEATURES = ("votes", "valid", "forced", "consensus")
"""The features of a calibrator: the logit of the votes, two shares, and the logit of the consensus verifier."""
MONOTONE = ("votes", "consensus")
"""Features whose weight is never negative: evidence for a patch must not lower its probability."""


def build_features(evidence: Evidence) -> dict[str, float]:
    """Return a calibrator's features by name, as in FEATURES, from the evidence about a patch.

    A missing belief gives 0, and few votes pull the vote share towards one half.
    """
    return {
        "votes": _compute_logit(_shrink(evidence.score, evidence.valid)),
        "valid": evidence.valid_share or 0.0,
        "forced": evidence.forced_share or 0.0,
        "consensus": _compute_logit(evidence.consensus),
    }


@dataclass(frozen=True, slots=True)
class History:
    """The size of the data that a calibrator was fitted on."""

    issues: int
    correct: int
    incorrect: int

    @property
    def is_enough(self) -> bool:
        """Whether the calibrator has seen enough issues and labels to give a probability."""
        return self.issues >= MIN_ISSUES and min(self.correct, self.incorrect) >= MIN_PER_LABEL


@dataclass(frozen=True, slots=True)
class Calibrator:
    """A fitted model that turns the evidence about a patch into the probability that the patch is correct.

    Raises ValueError for parameters with which more support could lower the probability.
    """

    fitted_at: str
    """ISO 8601, UTC."""
    history: History
    kind: CalibrationMethod = CalibrationMethod.PLATT
    weights: Mapping[str, float] = field(default_factory=dict)
    """The weight of each used feature."""
    intercept: float = 0.0
    curve: tuple[tuple[float, float], ...] = ()
    """The isotonic curve as ascending (logit, probability) points: linear between the points, constant outside."""
    thresholds: Thresholds = field(default_factory=lambda: Thresholds(None, None))
    """Thresholds on the probability. Between them the verdict is unsure."""

    def __post_init__(self) -> None:
        """Refuse unknown features, negative weights of monotone features, and a curve that falls."""
        if unknown := sorted(set(self.weights) - set(FEATURES)):
            raise ValueError(f"unknown feature {unknown[0]!r}; known are {', '.join(FEATURES)}")
        if negative := [name for name in MONOTONE if self.weights.get(name, 0.0) < 0]:
            raise ValueError(f"weight of {negative[0]} is negative; fit again without it")
        if self.kind is CalibrationMethod.ISOTONIC and not self.curve:
            raise ValueError("an isotonic calibrator needs a curve")
        if any(left[0] >= right[0] or left[1] > right[1] for left, right in pairwise(self.curve)):
            raise ValueError("the curve must rise with its logits; sort and merge its points")
        if not all(0 <= probability <= 1 for _, probability in self.curve):
            raise ValueError("the curve leaves 0…1; it holds probabilities")

    def predict_probability(self, evidence: Evidence) -> float | None:
        """Compute the probability that the patch is correct, or None where `explain_silence` gives a reason."""
        if self.explain_silence(evidence):
            return None
        values = build_features(evidence)
        logit = self.intercept + sum(weight * values[name] for name, weight in self.weights.items())
        return (
            _interpolate(self.curve, logit)
            if self.kind is CalibrationMethod.ISOTONIC
            else sigmoid(logit)
        )

    def explain_silence(self, evidence: Evidence) -> str | None:
        """Return the reason, for people, why this evidence gets no probability; None if it gets one."""
        if not self.history.is_enough:
            return NO_HISTORY
        return None if evidence.is_opinion else NO_OPINION


def to_json(calibrator: Calibrator) -> dict[str, Json]:
    """Convert a calibrator to the JSON object that `from_json` reads."""
    return {"schema": SCHEMA, "rules": RULES, **asdict(calibrator)}


def from_json(document: Mapping[str, Any]) -> Calibrator:
    """Read a calibrator that `to_json` wrote. Raises ValueError for another schema, version or an invalid calibrator."""
    for name, expected in (("schema", SCHEMA), ("rules", RULES)):
        if document.get(name) != expected:
            raise ValueError(f"{name} is {document.get(name)!r}, not {expected!r}; fit again")
    try:
        return Calibrator(
            fitted_at=str(document["fitted_at"]),
            history=History(**document["history"]),
            kind=CalibrationMethod(document["kind"]),
            weights={name: float(weight) for name, weight in document["weights"].items()},
            intercept=float(document["intercept"]),
            curve=tuple((float(logit), float(p)) for logit, p in document["curve"]),
            thresholds=Thresholds(**document["thresholds"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no calibrator: {error}; fit again") from error


def sigmoid(logit: float) -> float:
    """Convert a logit to a probability without overflow."""
    # exp() of a large positive number overflows, so each sign has its own form.
    if logit < 0:
        return math.exp(logit) / (1 + math.exp(logit))
    return 1 / (1 + math.exp(-logit))


def _shrink(score: float | None, votes: int) -> float | None:
    """Shrink a share of votes towards one half by one vote. A belief without votes stays unchanged."""
    return (score * votes + 0.5) / (votes + 1) if score is not None and votes else score


def _compute_logit(belief: float | None) -> float:
    if belief is None:
        return 0.0
    clipped = min(max(belief, _EDGE), 1 - _EDGE)
    return math.log(clipped / (1 - clipped))


def _interpolate(curve: tuple[tuple[float, float], ...], logit: float) -> float:
    """Interpolate the curve at a logit."""
    after = bisect_right(curve, logit, key=lambda point: point[0])
    if after == 0:
        return curve[0][1]
    if after == len(curve):
        return curve[-1][1]
    (left, low), (right, high) = curve[after - 1 : after + 1]
    # rounding must not leave the interval of the two points: that could reverse the order of two patches
    return min(max(low + (high - low) * (logit - left) / (right - left), low), high)
