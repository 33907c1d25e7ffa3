"""When a canary is taken out by itself (pure).

A model that became worse answers as promptly and politely as before, so nothing fails: what it says is watched. It is
held against who judged the other issues since; too little to tell is no reason.
"""

from dataclasses import dataclass

from model.evaluation.wilson import wilson


@dataclass(frozen=True, slots=True)
class Record:
    """What a judge did since the canary began."""

    judged: int = 0
    """Evaluations."""
    asked: int = 0
    """Votes."""
    valid: int = 0
    patches: int = 0
    """That were judged, one way or the other."""
    correct: int = 0
    """Of them, called correct."""
    overturned: int = 0
    """Of these, reverted, or called wrong by somebody with a say."""
    seconds: float = 0.0
    """All evaluations together."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a canary may do."""

    least_judged: int = 10
    """Evaluations from which on its pace is compared."""
    least_votes: int = 40
    least_patches: int = 40
    least_readable: float = 0.8
    """Share of votes that can be read."""
    slowest: float = 3.0
    """Times as long for an evaluation as the others need."""


def trouble(canary: Record, others: Record, limits: Limits) -> str | None:
    """Why the canary is to be taken out; None: nothing that could be told speaks against it."""
    reasons = (
        _unreadable(canary, limits),
        _shifted(canary, others, limits),
        _overturned(canary, others),
        _slow(canary, others, limits),
    )
    return next((one for one in reasons if one), None)


def _unreadable(canary: Record, limits: Limits) -> str | None:
    if canary.asked < limits.least_votes or canary.valid >= limits.least_readable * canary.asked:
        return None
    return (
        f"{canary.valid} of its {canary.asked} votes can be read; {limits.least_readable:.0%} is the "
        "least"
    )


def _shifted(canary: Record, others: Record, limits: Limits) -> str | None:
    """Calls patches correct far more often than the others do, or far less."""
    if min(canary.patches, others.patches) < limits.least_patches:
        return None
    (low, high), (lowest, highest) = (wilson(one.correct, one.patches) for one in (canary, others))
    if low <= highest and lowest <= high:
        return None
    return (
        f"it calls {canary.correct} of {canary.patches} patches correct, where others call {others.correct} of "
        f"{others.patches} so"
    )


def _overturned(canary: Record, others: Record) -> str | None:
    """A false accept is the mistake that costs."""
    if not others.correct or canary.overturned < 2:
        return None
    low, _ = wilson(canary.overturned, canary.correct)
    _, high = wilson(others.overturned, others.correct)
    if low <= high:
        return None
    return (
        f"{canary.overturned} of the {canary.correct} patches that it called correct were overturned, of the others' "
        f"{others.overturned} of {others.correct}"
    )


def _slow(canary: Record, others: Record, limits: Limits) -> str | None:
    if min(canary.judged, others.judged) < limits.least_judged:
        return None
    pace, usual = canary.seconds / canary.judged, others.seconds / others.judged
    if pace <= limits.slowest * usual:
        return None
    return f"it takes {pace:.0f} seconds for an issue, others take {usual:.0f}"
