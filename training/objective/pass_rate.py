"""Measure how much a group of passes and failures can teach: four signals, largest at a rate of one half
(pure).

The names are from Rollout Pass-Rate Control (arXiv 2605.05112); the formulas are derived here. Rewards must be
0 or 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2


@dataclass(frozen=True, slots=True)
class PassRateSignals:
    """Four measures of what a group with `passed` passes among `total` replies can teach; 0 if all pass or fail."""

    passed: int
    total: int

    def __post_init__(self) -> None:
        if not 0 <= self.passed <= self.total or self.total < 2:
            raise ValueError(
                f"{self.passed} of {self.total} replies passed: give at least two replies, and no more passes than replies"
            )

    @property
    def rate(self) -> float:
        """Share of passes, 0 to 1."""
        return self.passed / self.total

    @property
    def entropy(self) -> float:
        """Entropy of one reward in bits, 0 to 1."""
        # A rate of 0 or 1 has no entropy; log2(0) is undefined, so these shares are skipped.
        return -sum(share * log2(share) for share in (self.rate, 1 - self.rate) if share)

    @property
    def survival(self) -> float:
        """Probability that a new group with this size and rate has both a pass and a failure."""
        # 1 - P(all n pass) - P(all n fail), replies drawn independently.
        return 1 - self.rate**self.total - (1 - self.rate) ** self.total

    @property
    def energy(self) -> float:
        """Mean square of the leave-one-out advantages, k (n - k) / (n - 1)² for k passes of n.

        A pass has the advantage (n - k) / (n - 1), a failure -k / (n - 1).
        """
        # k (n - k)^2 + (n - k) k^2 = k (n - k) n, divided by n and (n - 1)^2.
        return self.pairs / (self.total - 1) ** 2

    @property
    def pairs(self) -> int:
        """Number of pairs of a pass and a failure."""
        return self.passed * (self.total - self.passed)


def compute_signals(rewards: Sequence[float | None]) -> PassRateSignals | None:
    """Measure what the rewards of one group of replies can teach. None with fewer than two scored replies.

    Raises ValueError for a reward other than 0 or 1.
    """
    scored = [reward for reward in rewards if reward is not None]
    if invalid := [reward for reward in scored if reward not in {0, 1}]:
        raise ValueError(
            f"reward {invalid[0]} has no pass rate: give 0 or 1, or apply a threshold first"
        )
    return (
        PassRateSignals(sum(reward == 1 for reward in scored), len(scored))
        if len(scored) > 1
        else None
    )
