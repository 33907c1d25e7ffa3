"""How much a group of passes and failures can teach: four signals, all strongest at half (pure).

After Rollout Pass-Rate Control (arXiv 2605.05112), which names the four; the formulas are worked out here. Rewards have
to be 0 or 1: a share of right judgements has no pass rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2


@dataclass(frozen=True, slots=True)
class Signals:
    """What `passed` of `of` replies carry. All are 0 where all pass or none does."""

    passed: int
    of: int

    def __post_init__(self) -> None:
        if not 0 <= self.passed <= self.of or self.of < 2:
            raise ValueError(
                f"{self.passed} of {self.of} replies passed: give at least two replies, and no more passes than replies"
            )

    @property
    def rate(self) -> float:
        """The share that passed, 0 to 1."""
        return self.passed / self.of

    @property
    def entropy(self) -> float:
        """Of one reward, in bits: at most 1."""
        return -sum(share * log2(share) for share in (self.rate, 1 - self.rate) if share)

    @property
    def survival(self) -> float:
        """The probability that a new group of this size, at this rate, is neither all passes nor all failures."""
        return 1 - self.rate**self.of - (1 - self.rate) ** self.of

    @property
    def energy(self) -> float:
        """The mean square of the leave-one-out advantages.

        A pass has (n - k) / (n - 1) and a failure -k / (n - 1), so the mean square is k (n - k) / (n - 1)².
        """
        return self.pairs / (self.of - 1) ** 2

    @property
    def pairs(self) -> int:
        """How many pairs of a pass and a failure there are to compare."""
        return self.passed * (self.of - self.passed)


def signals(rewards: Sequence[float | None]) -> Signals | None:
    """The signals of a group, without its unscorable members; None when fewer than two were scored.

    Raises ValueError for a reward other than 0 and 1.
    """
    scored = [one for one in rewards if one is not None]
    if strange := [one for one in scored if one not in {0, 1}]:
        raise ValueError(
            f"reward {strange[0]} has no pass rate: give 0 or 1, or judge by a threshold first"
        )
    return Signals(sum(one == 1 for one in scored), len(scored)) if len(scored) > 1 else None
