"""Where belief becomes a verdict: correct from here on, incorrect down to there, unsure between (pure)."""

from dataclasses import dataclass

from model.domain import Verdict


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Bounds on a belief in 0…1, be it a share of votes, a score or a calibrated probability.

    None on a side: that claim is never made. Raises ValueError when the sides meet.
    """

    correct: float | None = 0.6
    """From this belief on, a patch is held to be correct: 2 of 3 votes, 3 of 5."""
    incorrect: float | None = 0.4
    """Down to this belief it is held to be incorrect."""

    def __post_init__(self) -> None:
        """Refuse bounds that would call one patch both."""
        if None not in {self.correct, self.incorrect} and not self.incorrect < self.correct:  # type: ignore[operator]
            raise ValueError(
                f"incorrect up to {self.incorrect} and correct from {self.correct} overlap; leave room between"
            )

    def verdict(self, belief: float | None) -> Verdict:
        """What a belief amounts to; without one (None, or not a number) nothing is claimed."""
        if belief is not None and self.correct is not None and belief >= self.correct:
            return Verdict.CORRECT
        if belief is not None and self.incorrect is not None and belief <= self.incorrect:
            return Verdict.INCORRECT
        return Verdict.UNSURE


AGREEMENT = Thresholds()
"""For shares of votes that nobody has calibrated: the votes have to agree."""
