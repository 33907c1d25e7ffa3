"""The slices of the proof in the order of their value, and the choice of the next one (pure).

A slice is one process with a time limit. It either finishes or leaves a state from which the next command goes on.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum


class SliceKind(StrEnum):
    """What a slice does."""

    WEIGHTS = "weights"
    """Unpack the weights once."""
    SCORE = "score"
    """Judge the evaluated groups with a verifier."""
    TRAIN = "train"
    PARITY = "parity"
    """Compare log-probabilities of the reloaded adapter with the trainer's."""


@dataclass(frozen=True, slots=True)
class ProofSlice:
    """One step of the proof."""

    name: str
    kind: SliceKind
    needs: str = ""
    """Slice that must have finished before."""
    run: str = ""
    """Training whose adapter is used; "" for the base."""
    verifier: str = ""


YES_NO_BEFORE, YES_NO_AFTER = "yes-no-before", "yes-no-after"
BOXED_BEFORE, BOXED_AFTER_SFT, BOXED_AFTER_GRPO = (
    "boxed-before",
    "boxed-after-sft",
    "boxed-after-grpo",
)
YES_NO_SFT, BOXED_SFT, GRPO = "yes-no-sft", "boxed-sft", "grpo"
PARITY = "parity"

SLICES = (
    ProofSlice("weights", SliceKind.WEIGHTS),
    ProofSlice(YES_NO_BEFORE, SliceKind.SCORE, "weights", verifier="yes-no"),
    ProofSlice(YES_NO_SFT, SliceKind.TRAIN, "weights"),
    ProofSlice(YES_NO_AFTER, SliceKind.SCORE, YES_NO_SFT, YES_NO_SFT, "yes-no"),
    ProofSlice(BOXED_SFT, SliceKind.TRAIN, "weights"),
    ProofSlice(BOXED_AFTER_SFT, SliceKind.SCORE, BOXED_SFT, BOXED_SFT, "r4p"),
    ProofSlice(GRPO, SliceKind.TRAIN, BOXED_SFT, BOXED_SFT),
    ProofSlice(BOXED_AFTER_GRPO, SliceKind.SCORE, GRPO, GRPO, "r4p"),
    ProofSlice(PARITY, SliceKind.PARITY, YES_NO_SFT, YES_NO_SFT),
    # Last: a base that never boxes says little, and it writes the longest replies.
    ProofSlice(BOXED_BEFORE, SliceKind.SCORE, "weights", verifier="r4p"),
)
BY_NAME: Mapping[str, ProofSlice] = {step.name: step for step in SLICES}


class SliceStatus(StrEnum):
    """How the last attempt at a slice ended."""

    FINISHED = "finished"
    UNFINISHED = "unfinished"
    """Out of time or killed: the next attempt goes on."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SliceRecord:
    """What is known about a slice after its attempts."""

    name: str
    status: SliceStatus
    why: str = ""
    seconds: float = 0.0
    """Wall time of all attempts."""
    attempts: int = 0
    measured: Mapping[str, float] = field(default_factory=dict)
    """Figures by name, such as `tokens_per_second` and `peak_memory_gib`."""

    def add_attempt(self, last: "SliceRecord") -> "SliceRecord":
        """Return the record with one more attempt, which ended as in `last`."""
        return replace(
            last,
            seconds=round(self.seconds + last.seconds, 1),
            attempts=self.attempts + 1,
            measured={**self.measured, **last.measured},
        )


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Limits of the rented machine, in seconds."""

    command: float = 540.0
    """One command, from its start."""
    rent: float = 1_800.0
    """The machine, from the first part received."""
    grace: float = 20.0
    """A slice is asked to stop this long before its end, and killed at its end."""
    least: float = 60.0
    """Shortest time that is worth a start, because loading takes about half a minute."""


def compute_end(limits: TimeLimits, rented_at: float, begun_at: float) -> float:
    """Return the time at which a command that began at `begun_at` must have ended, in seconds since the epoch."""
    return min(begun_at + limits.command, rented_at + limits.rent)


def choose_next(
    records: Mapping[str, SliceRecord], tried: Collection[str], order: Sequence[ProofSlice] = SLICES
) -> ProofSlice | None:
    """Return the first slice of `order` that may start now, or None.

    A slice may start if it has not finished, was not tried by this command, and has what it needs.
    """

    def is_done(name: str) -> bool:
        return name in records and records[name].status is SliceStatus.FINISHED

    for step in order:
        is_ready = not step.needs or is_done(step.needs)
        if is_ready and not is_done(step.name) and step.name not in tried:
            return step
    return None


def must_stop(now: float, end: float, step: int, every: int, step_seconds: float) -> bool:
    """Tell whether a training stops after `step` to keep its last checkpoint useful.

    A checkpoint is written after every `every` steps. The training stops right after a checkpoint if the next one would
    come after `end`, and in any case once `end` has passed. Times are in seconds.
    """
    # The step after a checkpoint is the first one at which that checkpoint is known to be on disk.
    is_saved = step > 1 and (step - 1) % every == 0
    return now >= end or (is_saved and now + every * step_seconds > end)
