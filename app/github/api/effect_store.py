"""Define the record of each write to GitHub, planned before it is sent, so that a crash never
doubles it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from app.values.identifiers import RepositoryRef


class EffectState(StrEnum):
    """How certain the bot is that GitHub carried out a write."""

    PLANNED = "planned"
    """About to be sent; a later attempt that finds this state must check GitHub."""
    CONFIRMED = "confirmed"
    AMBIGUOUS = "ambiguous"
    """Sent, but the answer was lost."""


@dataclass(frozen=True, slots=True)
class EffectKey:
    """The name of one object that the bot writes to GitHub, such as a comment or the check run on one head."""

    repository: RepositoryRef
    name: str
    """Such as `comment:group:7`; unique over all repositories."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The stored state of one write to GitHub."""

    state: EffectState
    github_id: int | None
    """None until the thing is known to exist."""
    digest: str | None
    """SHA-256 of the content that GitHub last confirmed."""

    def shows(self, digest: str) -> bool:
        """Return whether the bot knows for certain that GitHub shows exactly this content."""
        return self.state is EffectState.CONFIRMED and self.digest == digest


class EffectStore(Protocol):
    """Stores effects, the planned writes to GitHub. Each method commits, so no lock outlives a call."""

    def load(self, key: EffectKey) -> Effect | None:
        """Load an effect; None when it was never planned."""
        ...

    def plan(self, key: EffectKey, github_id: int | None) -> None:
        """Record a write to GitHub that is about to be sent.

        `github_id` is the id of an edited object, or None for a new one.
        """
        ...

    def confirm(self, key: EffectKey, github_id: int, digest: str) -> None:
        """Record that GitHub holds the written comment, check run or other object under this id with this content."""
        ...

    def mark_ambiguous(self, key: EffectKey) -> None:
        """Record that GitHub's answer to a write was lost; a known id stays."""
        ...
