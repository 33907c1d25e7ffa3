"""How many replies Agentless Mini samples in one attempt (pure)."""

from dataclasses import dataclass, fields
from typing import Final

from model.errors import IncompatibleOptions

MOST_SAMPLES: Final = 1_000
"""Seeds reserved per attempt, so that seeds of different attempts never meet."""


@dataclass(frozen=True, slots=True)
class SamplingPlan:
    """Numbers of replies that Agentless Mini samples in one attempt, per stage and per engine call.

    SWE-RL samples up to 500 repairs and 30 tests (section 3.4). The defaults here are for one small server.
    """

    localisations: int = 4
    repairs: int = 16
    tests: int = 0
    """Reproduction tests."""
    files: int = 4
    """Most files that one localisation may name."""
    batch: int = 16
    """Most requests per engine call. The time limit of each request is what is left of the attempt's time."""

    @property
    def samples(self) -> int:
        """All replies of an attempt."""
        return self.localisations + self.repairs + self.tests


def check_plan(plan: SamplingPlan) -> SamplingPlan:
    """Return the plan. Raises IncompatibleOptions when a number is too small, or all samples are too many."""
    for item in fields(plan):
        least = 0 if item.name == "tests" else 1
        if (number := getattr(plan, item.name)) < least:
            raise IncompatibleOptions(f"{item.name} is {number}; take at least {least}")
    if plan.samples > MOST_SAMPLES:
        raise IncompatibleOptions(
            f"{plan.samples:,} samples in one attempt are more than {MOST_SAMPLES:,}; take fewer repairs, and more attempts"
        )
    return plan
