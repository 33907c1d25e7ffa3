"""From what a verifier believes to a probability that came true before: a fitted calibrator, applied (pure).

Fitting lives in `training/calibrators/fitting.py`. A calibrator is a logistic regression on a few features of the evidence,
with an isotonic curve on top where that was better on held-out issues. More votes for a patch never lower its
probability. Below a minimum of history there is no probability, and the reason says so.
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
"""Version of how evidence becomes features; a calibrator fitted under other rules is refused."""

LEAST_ISSUES = 30
LEAST_OF_EACH = 20
"""Correct patches, and incorrect ones, below which nothing can be said of frequencies."""

NO_HISTORY = "not enough history"
NO_OPINION = "no verifier has an opinion"

_EDGE = 0.01
"""Beliefs are kept this far from 0 and 1 before their logit is taken."""


class Kind(StrEnum):
    """How the logit becomes a probability."""

    PLATT = "platt"
    ISOTONIC = "isotonic"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one patch when its probability is asked for. None: that was not looked at, or has no opinion."""

    score: float | None = None
    """The model's belief 0…1, as a share of votes."""
    valid: int = 0
    """Votes that could be read; 0 for a belief that is no share of votes."""
    valid_share: float | None = None
    """Of the votes asked for."""
    forced_share: float | None = None
    """Of the votes that could be read, those read only after the reply was continued."""
    consensus: float | None = None
    """The belief 0…1 of the model on features of the group."""

    @property
    def is_opinion(self) -> bool:
        """Somebody believes something."""
        return self.score is not None or self.consensus is not None


FEATURES = ("votes", "valid", "forced", "consensus")
"""What a calibrator may weigh: the logit of the votes, two shares, the logit of consensus."""
MONOTONE = ("votes", "consensus")
"""Features whose weight is never negative: evidence for a patch is not held against it."""


def features(evidence: Evidence) -> dict[str, float]:
    """Every feature; 0 where there is nothing to say, and a vote share drawn towards a half the fewer votes there are."""
    return {
        "votes": _logit(_drawn(evidence.score, evidence.valid)),
        "valid": evidence.valid_share or 0.0,
        "forced": evidence.forced_share or 0.0,
        "consensus": _logit(evidence.consensus),
    }


@dataclass(frozen=True, slots=True)
class History:
    """What a calibrator was fitted on."""

    issues: int
    correct: int
    incorrect: int

    @property
    def is_enough(self) -> bool:
        """Whether frequencies mean something."""
        return self.issues >= LEAST_ISSUES and min(self.correct, self.incorrect) >= LEAST_OF_EACH


@dataclass(frozen=True, slots=True)
class Calibrator:
    """A fitted calibrator. Raises ValueError for one that would turn an order around."""

    fitted_at: str
    """ISO 8601, UTC."""
    history: History
    kind: Kind = Kind.PLATT
    weights: Mapping[str, float] = field(default_factory=dict)
    """Weight of each feature that counts."""
    intercept: float = 0.0
    curve: tuple[tuple[float, float], ...] = ()
    """Isotonic: (logit, probability) ascending, straight between, level outside."""
    thresholds: Thresholds = field(default_factory=lambda: Thresholds(None, None))
    """On the probability; between them nothing is claimed."""

    def __post_init__(self) -> None:
        """Refuse unknown features, negative weights of evidence, and a curve that falls."""
        if unknown := sorted(set(self.weights) - set(FEATURES)):
            raise ValueError(f"unknown feature {unknown[0]!r}; known are {', '.join(FEATURES)}")
        if negative := [name for name in MONOTONE if self.weights.get(name, 0.0) < 0]:
            raise ValueError(f"weight of {negative[0]} is negative; fit again without it")
        if self.kind is Kind.ISOTONIC and not self.curve:
            raise ValueError("an isotonic calibrator needs a curve")
        if any(one[0] >= two[0] or one[1] > two[1] for one, two in pairwise(self.curve)):
            raise ValueError("the curve must rise with its logits; sort and merge its points")
        if not all(0 <= probability <= 1 for _, probability in self.curve):
            raise ValueError("the curve leaves 0…1; it holds probabilities")

    def probability(self, evidence: Evidence) -> float | None:
        """The chance that the patch is correct; None when `silence` says why there is none."""
        if self.silence(evidence):
            return None
        known = features(evidence)
        logit = self.intercept + sum(weight * known[name] for name, weight in self.weights.items())
        return _along(self.curve, logit) if self.kind is Kind.ISOTONIC else sigmoid(logit)

    def silence(self, evidence: Evidence) -> str | None:
        """Why there is no probability, for a person; None when there is one."""
        if not self.history.is_enough:
            return NO_HISTORY
        return None if evidence.is_opinion else NO_OPINION


def to_json(calibrator: Calibrator) -> dict[str, Json]:
    """The calibrator as plain JSON values."""
    return {"schema": SCHEMA, "rules": RULES, **asdict(calibrator)}


def from_json(document: Mapping[str, Any]) -> Calibrator:
    """What `to_json` wrote. Raises ValueError for another schema, other rules, or a calibrator that can't be."""
    for name, known in (("schema", SCHEMA), ("rules", RULES)):
        if document.get(name) != known:
            raise ValueError(f"{name} is {document.get(name)!r}, not {known!r}; fit again")
    try:
        return Calibrator(
            fitted_at=str(document["fitted_at"]),
            history=History(**document["history"]),
            kind=Kind(document["kind"]),
            weights={name: float(weight) for name, weight in document["weights"].items()},
            intercept=float(document["intercept"]),
            curve=tuple((float(logit), float(p)) for logit, p in document["curve"]),
            thresholds=Thresholds(**document["thresholds"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no calibrator: {error}; fit again") from error


def sigmoid(logit: float) -> float:
    """The probability of a logit, without overflow."""
    if logit < 0:
        return math.exp(logit) / (1 + math.exp(logit))
    return 1 / (1 + math.exp(-logit))


def _drawn(score: float | None, votes: int) -> float | None:
    """A share of votes, drawn towards a half by one vote; a belief that is none is taken as it is."""
    return (score * votes + 0.5) / (votes + 1) if score is not None and votes else score


def _logit(belief: float | None) -> float:
    if belief is None:
        return 0.0
    held = min(max(belief, _EDGE), 1 - _EDGE)
    return math.log(held / (1 - held))


def _along(curve: tuple[tuple[float, float], ...], logit: float) -> float:
    """The height of the curve over a logit."""
    after = bisect_right(curve, logit, key=lambda point: point[0])
    if after == 0:
        return curve[0][1]
    if after == len(curve):
        return curve[-1][1]
    (left, low), (right, high) = curve[after - 1 : after + 1]
    # the clamp keeps rounding from leaving the two points, and so from turning an order around
    return min(max(low + (high - low) * (logit - left) / (right - left), low), high)
