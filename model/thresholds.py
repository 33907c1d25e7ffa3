"""Where belief becomes a verdict: correct from here on, incorrect down to there, unsure between (pure)."""

from collections.abc import Iterable
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


def on_precision(
    judged: Iterable[tuple[float, bool]], *, accept: float, reject: float, least: int = 20
) -> Thresholds:
    """The bounds that claim the most while claims stay true, on labelled (belief, is correct) pairs.

    At least `accept` of the patches called correct have to be correct, and `reject` of those called incorrect
    incorrect, each side over `least` patches or more; a side that never is that good makes no claim. A false
    accept costs the most, so where both sides want the same beliefs, they are called incorrect.
    """
    pairs = sorted(judged)
    incorrect = _reach([(belief, not label) for belief, label in pairs], reject, least)
    above = [pair for pair in pairs if incorrect is None or pair[0] > incorrect]
    return Thresholds(_reach(above[::-1], accept, least), incorrect)


def _reach(pairs: list[tuple[float, bool]], precision: float, least: int) -> float | None:
    """The belief furthest along the sorted pairs up to which the share of true ones holds."""
    reached, true = None, 0
    for seen, (belief, holds) in enumerate(pairs, 1):
        true += holds
        last_of_its_value = seen == len(pairs) or pairs[seen][0] != belief
        if last_of_its_value and seen >= least and true >= precision * seen:
            reached = belief
    return reached
