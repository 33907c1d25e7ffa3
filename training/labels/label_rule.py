"""The parts of a labelling rule: its grade, condition, probability and source (pure).

`training/labels/rules.py` lists all rules.
"""

from dataclasses import dataclass
from enum import StrEnum


class LabelGrade(StrEnum):
    """Grade of a patch's label. Weak grades lean to a side; unknown has no side and never means incorrect."""

    CORRECT = "correct"
    WEAKLY_CORRECT = "weakly_correct"
    WEAKLY_INCORRECT = "weakly_incorrect"
    INCORRECT = "incorrect"
    UNKNOWN = "unknown"

    @property
    def is_positive(self) -> bool | None:
        """True for the two correct grades, False for the two incorrect grades, None for unknown."""
        if self is LabelGrade.UNKNOWN:
            return None
        return self in {LabelGrade.CORRECT, LabelGrade.WEAKLY_CORRECT}

    @property
    def is_weak(self) -> bool:
        """True for the two weak grades."""
        return self in {LabelGrade.WEAKLY_CORRECT, LabelGrade.WEAKLY_INCORRECT}


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to label a patch, or to leave it unlabelled."""

    name: str
    grade: LabelGrade
    probability: float | None
    """Assumed probability that the patch is correct. None: unknown. `estimate_from_survival` refines it where
    surviving lines are counted.
    """
    condition: str
    """When the rule applies, as a sentence for people."""
    source: str
    """The study or the reason behind it."""
