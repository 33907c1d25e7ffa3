"""What is learnt from: an issue, the patches judged against each other, and what is believed of each (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class LabelSource(StrEnum):
    """Who said which patches are correct. Evaluations never pool the two."""

    OUTCOMES = "outcomes"
    BENCHMARK = "benchmark"


@dataclass(frozen=True, slots=True)
class TrainingGroup:
    """One group of patches for one issue, as a verifier is shown it (R4P, section 3)."""

    key: str
    """Names the group for good."""
    issue: str
    """`owner/repo#number` or a benchmark's instance: what is split and resampled as one."""
    repo: str
    problem_statement: str
    """The issue's text as it was when the patches were judged."""
    patches: tuple[str, ...]
    """Unified diffs; an empty one is padding."""
    targets: tuple[float | None, ...]
    """The probability that each patch is correct, 0 to 1. None: unknown, or padding; never taken for 0."""
    weight: float = 1.0
    source: LabelSource = LabelSource.BENCHMARK
    as_of: datetime | None = None
    """What the text holds was known by then."""
    outcome_at: datetime | None = None
    """When the last of its labels was known."""
    licence: str | None = None
    """The repository's, by its SPDX name; None: not known."""

    def __post_init__(self) -> None:
        if len(self.patches) != len(self.targets):
            raise ValueError(
                f"group {self.key}: {len(self.patches)} patches and {len(self.targets)} targets; give one for each"
            )
        strange = [one for one in self.targets if one is not None and not 0 <= one <= 1]
        if strange:
            raise ValueError(
                f"group {self.key}: target {strange[0]} is no probability; give 0 to 1"
            )

    @property
    def positives(self) -> int:
        """How many patches are rather correct than not."""
        return sum(one is not None and one >= 0.5 for one in self.targets)
