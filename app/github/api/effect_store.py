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
    """A name that is unique over all repositories, such as `comment:group:7`."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The stored state of one write to GitHub."""

    state: EffectState
    github_id: int | None
    """GitHub's id of the written object; None until the bot knows that the object exists."""
    digest: str | None
    """SHA-256 of the content that GitHub last confirmed; None: GitHub has confirmed none."""

    def shows(self, digest: str) -> bool:
        """Return whether the bot knows for certain that GitHub shows the content with the SHA-256 `digest`."""
        return self.state is EffectState.CONFIRMED and self.digest == digest


class EffectStore(Protocol):
    """Stores effects, the planned writes to GitHub. Each method commits, so no lock outlives a call."""

    def load(self, key: EffectKey) -> Effect | None:
        """Return the stored state of the write to the object `key`; None when the bot never planned one."""
        ...

    def plan(self, key: EffectKey, github_id: int | None) -> None:
        """Record that the bot is about to send a write to the object `key`.

        `github_id` is GitHub's id of the object that the write edits; None for a new object.
        """
        ...

    def confirm(self, key: EffectKey, github_id: int, digest: str) -> None:
        """Record that GitHub holds the object `key` under the id `github_id`.

        `digest` is the SHA-256 of the content that GitHub confirmed.
        """
        ...

    def mark_ambiguous(self, key: EffectKey) -> None:
        """Record that GitHub's answer to the write to the object `key` was lost. A stored GitHub id stays."""
        ...
