"""What one run of the tests showed (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

REPLACED: Final = "replaced "
"""Begins an entry of `SuiteRun.set_up` that names what the code under test replaced in the tests."""


class Outcome(StrEnum):
    """How one test ended."""

    PASSED = "passed"
    FAILED = "failed"
    """The test, its set-up or its tear-down failed."""
    SKIPPED = "skipped"
    """The test was skipped, or failed as its author expects."""


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """One run of a test command. A test without an outcome is unknown: nobody knows how it would have ended."""

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    """The outcome of each test by its id."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """The end of the text that pytest shows of a failure, by test or by the path of a module that cannot be collected.

    It is the text of the code under test, and of a few failures only.
    """
    failure: str | None = None
    """Why the run says nothing at all, for a person; None for a run that may be believed."""
    set_up: tuple[str, ...] = ()
    """The plugins of the test runner, the functions of it that they replaced before the first test, and what was replaced
    in the tests while they ran."""
    seconds: float = 0.0
    """Wall-clock seconds."""
    is_self_reported: bool = False
    """Whether the outcomes come from a file that the code under test can write. They are weaker evidence then."""

    def list_passed(self) -> frozenset[str]:
        """Return the ids of the tests that passed."""
        return frozenset(
            test for test, outcome in self.outcomes.items() if outcome is Outcome.PASSED
        )


def build_failed_run(reason: str, seconds: float = 0.0) -> SuiteRun:
    """Return a run without any outcome. `reason` says why, for a person."""
    return SuiteRun(failure=reason, seconds=seconds)
