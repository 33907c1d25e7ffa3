"""Define the training group: an issue, its rival patches and the belief in each (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class LabelSource(StrEnum):
    """Origin of a training group's labels. Evaluations report the two origins separately."""

    OUTCOMES = "outcomes"
    BENCHMARK = "benchmark"


@dataclass(frozen=True, slots=True)
class TrainingGroup:
    """One group of patches of one issue, as a verifier sees it (R4P, section 3)."""

    key: str
    """A permanent name of the group."""
    issue: str
    """`owner/repo#number`, or a benchmark's instance id. Splits and resampling keep an issue together."""
    repo: str
    problem_statement: str
    """The issue's text when the patches were judged."""
    patches: tuple[str, ...]
    """Unified diffs, one for each seat. An empty string is padding."""
    targets: tuple[float | None, ...]
    """Probability that each patch is correct, 0 to 1. None: unknown or padding, never treated as 0."""
    weight: float = 1.0
    """Expected number of copies of the group in one epoch."""
    source: LabelSource = LabelSource.BENCHMARK
    as_of: datetime | None = None
    """Time at which the text was read."""
    outcome_at: datetime | None = None
    """Time at which the last label became known."""
    licence: str | None = None
    """SPDX name of the repository's licence. None: unknown."""
    trajectories: tuple[str | None, ...] = ()
    """Text of the attempt that led to each patch, None where it is unknown. Empty: no patch has one."""

    def __post_init__(self) -> None:
        if self.trajectories and len(self.trajectories) != len(self.patches):
            raise ValueError(
                f"group {self.key}: {len(self.patches)} patches but {len(self.trajectories)} trajectories; give one or None for each patch"
            )
        if len(self.patches) != len(self.targets):
            raise ValueError(
                f"group {self.key}: {len(self.patches)} patches but {len(self.targets)} targets; give one target for each patch"
            )
        invalid = [target for target in self.targets if target is not None and not 0 <= target <= 1]
        if invalid:
            raise ValueError(
                f"group {self.key}: target {invalid[0]} is no probability; give 0 to 1"
            )

    @property
    def positives(self) -> int:
        """Number of patches in the group with a target of at least 0.5."""
        return sum(target is not None and target >= 0.5 for target in self.targets)
