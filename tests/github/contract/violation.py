"""The result type of every check."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """A way in which a message differs from what GitHub would send or accept."""

    where: str
    """Such as `response GET /repos/{owner}/{repo}/pulls/{pull_number} 200`."""
    what: str
