"""The curve of a training: its mean reward, or its loss where there is no reward, by optimiser step (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from training.runs.run_folder import TrainingStep

MOST_POINTS: Final = 60


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The mean of a metric over some steps that follow each other."""

    step: int
    """Number of the last of these steps."""
    value: float


@dataclass(frozen=True, slots=True)
class TrainingCurve:
    """A metric of a training by optimiser step."""

    metric: str
    """`reward`, which should rise, or `loss`, which should fall."""
    points: tuple[CurvePoint, ...]
    """At most MOST_POINTS, by step."""


def build_curve(steps: Sequence[TrainingStep]) -> TrainingCurve | None:
    """Return the curve of a run's steps; None if no step measured a reward or a loss."""
    for metric in ("reward", "loss"):
        measured = [
            CurvePoint(step.step, value)
            for step in steps
            if (value := getattr(step, metric)) is not None
        ]
        if measured:
            return TrainingCurve(metric, _thin(measured))
    return None


def _thin(points: Sequence[CurvePoint]) -> tuple[CurvePoint, ...]:
    """Return at most MOST_POINTS means over equally many points each; the last may have fewer."""
    width = -(-len(points) // MOST_POINTS)
    starts = range(0, len(points), width)
    parts = [points[start : start + width] for start in starts]
    return tuple(CurvePoint(part[-1].step, fmean(point.value for point in part)) for part in parts)
