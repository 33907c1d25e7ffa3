"""Thresholds turn a belief into a verdict: correct above, incorrect below, unsure between (pure)."""

from dataclasses import dataclass

from model.domain import Verdict


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Two limits on a belief from 0 to 1: a share of votes, a score or a calibrated probability.

    None on a side means that this claim is never made. Raises ValueError when the sides meet.
    """

    correct: float | None = 0.6
    """The lowest belief that means correct: 2 of 3 votes, or 3 of 5."""
    incorrect: float | None = 0.4
    """The highest belief that means incorrect."""

    def __post_init__(self) -> None:
        """Refuse limits that would call one patch both correct and incorrect."""
        if None not in {self.correct, self.incorrect} and not self.incorrect < self.correct:  # type: ignore[operator]
            raise ValueError(
                f"incorrect up to {self.incorrect} and correct from {self.correct} overlap; leave room between"
            )

    def decide(self, belief: float | None) -> Verdict:
        """Return the verdict for a belief. None and NaN give unsure."""
        if belief is not None and self.correct is not None and belief >= self.correct:
            return Verdict.CORRECT
        if belief is not None and self.incorrect is not None and belief <= self.incorrect:
            return Verdict.INCORRECT
        return Verdict.UNSURE


AGREEMENT = Thresholds()
"""Thresholds for uncalibrated shares of votes: the votes have to agree."""
