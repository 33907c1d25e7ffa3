"""Stops a canary that judges worse than the other models (pure).

A worse model still answers promptly, so nothing fails. The bot therefore compares the canary's votes and verdicts
with those of the models that judged the other issues since. Too little data stops nothing.
"""

from dataclasses import dataclass

from model.evaluation.wilson import compute_wilson_interval


@dataclass(frozen=True, slots=True)
class CanaryStatistics:
    """Counts of evaluations, votes and verdicts since the canary began, of the canary or of all other models."""

    judged: int = 0
    """Number of evaluations."""
    asked: int = 0
    """Number of votes that the bot asked for."""
    valid: int = 0
    """Number of readable votes."""
    patches: int = 0
    """Number of patches with a verdict of correct, incorrect or unsure."""
    correct: int = 0
    """Number of patches judged correct."""
    overturned: int = 0
    """Number of patches judged correct that were reverted, or that a maintainer called wrong."""
    seconds: float = 0.0
    """Seconds of all evaluations together."""


@dataclass(frozen=True, slots=True)
class CanaryLimits:
    """Limits beyond which the bot stops a canary."""

    min_evaluations: int = 10
    """Fewest evaluations for a comparison of speed."""
    min_votes: int = 40
    """Fewest votes for a comparison of readable votes."""
    min_patches: int = 40
    """Fewest patches for a comparison of verdicts."""
    min_readable: float = 0.8
    """Smallest share of votes that must be readable, 0 to 1."""
    max_slowdown: float = 3.0
    """Largest ratio of the canary's seconds per evaluation to those of the other models."""


def find_canary_problem(
    canary: CanaryStatistics, others: CanaryStatistics, limits: CanaryLimits
) -> str | None:
    """Return why the bot must stop the canary, or None if its votes and verdicts show no problem.

    `others` counts what the other models judged in the same time.
    """
    reasons = (
        _find_unreadable(canary, limits),
        _find_shift(canary, others, limits),
        _find_overturned(canary, others),
        _find_slowness(canary, others, limits),
    )
    return next(filter(None, reasons), None)


def _find_unreadable(canary: CanaryStatistics, limits: CanaryLimits) -> str | None:
    if canary.asked < limits.min_votes or canary.valid >= limits.min_readable * canary.asked:
        return None
    return f"{canary.valid} of its {canary.asked} votes are readable; the limit is {limits.min_readable:.0%}"


def _find_shift(
    canary: CanaryStatistics, others: CanaryStatistics, limits: CanaryLimits
) -> str | None:
    """The canary judges patches correct far more or far less often than the others."""
    if min(canary.patches, others.patches) < limits.min_patches:
        return None
    (low, high), (lowest, highest) = (
        compute_wilson_interval(model.correct, model.patches) for model in (canary, others)
    )
    if low <= highest and lowest <= high:
        return None
    return (
        f"it calls {canary.correct} of {canary.patches} patches correct, where others call {others.correct} of "
        f"{others.patches} so"
    )


def _find_overturned(canary: CanaryStatistics, others: CanaryStatistics) -> str | None:
    """More of the canary's accepted patches were overturned; a false accept costs most."""
    if not others.correct or canary.overturned < 2:
        return None
    low, _ = compute_wilson_interval(canary.overturned, canary.correct)
    _, high = compute_wilson_interval(others.overturned, others.correct)
    if low <= high:
        return None
    return (
        f"{canary.overturned} of the {canary.correct} patches that it called correct were overturned, of the others' "
        f"{others.overturned} of {others.correct}"
    )


def _find_slowness(
    canary: CanaryStatistics, others: CanaryStatistics, limits: CanaryLimits
) -> str | None:
    if min(canary.judged, others.judged) < limits.min_evaluations:
        return None
    pace, usual = canary.seconds / canary.judged, others.seconds / others.judged
    if pace <= limits.max_slowdown * usual:
        return None
    return f"it takes {pace:.0f} seconds for an issue, others take {usual:.0f}"
