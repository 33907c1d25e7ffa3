"""A hint for a second attempt: made of strangers' words, shown marked, taken out again (Agent-RLVR; the wording is ours) (pure).

Training may use an attempt with its hint and one without; evaluation never sees a hint. So whatever is shown of one
stands in a block of its own, and `without` removes exactly that.
"""

from dataclasses import dataclass
from enum import StrEnum


class Source(StrEnum):
    """Where a hint comes from."""

    MAINTAINER = "maintainer"
    """Somebody with a say in the repository, in a command or a review."""
    CHECK = "check"
    """The output of a check that failed."""
    VERDICT = "verdict"
    """Our own verdict's reason."""


@dataclass(frozen=True, slots=True)
class Guidance:
    """What helps a second attempt along. Its texts are safe to show."""

    feedback: str
    """What was wrong with the first attempt, in somebody's words or a check's output."""
    plan: str = ""
    """What to do instead, a step a line."""
    locations: tuple[str, ...] = ()
    """Paths, or names of entities, that are worth a look."""
    source: Source = Source.MAINTAINER
    said_by: str = ""
    """The login, the check's name or the verifier; kept with the attempt, not shown to the model."""
