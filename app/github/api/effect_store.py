"""Define the record of each write to GitHub, planned before it is sent, so that neither a crash nor
a worker that was paused doubles it.
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
    """Sent, but the answer was lost, or a late request of another attempt may have replaced it."""


@dataclass(frozen=True, slots=True)
class EffectKey:
    """The name of one object that the bot writes to GitHub, such as a comment or the check run on one head."""

    repository: RepositoryRef
    name: str
    """A name that is unique in the repository, such as `comment:group:7`."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The stored state of one write to GitHub."""

    state: EffectState
    github_id: int | None
    """GitHub's id of the written object; None until the bot knows that the object exists."""
    content: str
    """The newest planned content, as JSON. GitHub shows it for certain only in the state CONFIRMED."""

    def is_shown(self, content: str) -> bool:
        """Return whether the bot knows for certain that GitHub shows `content`."""
        return self.state is EffectState.CONFIRMED and self.content == content


class EffectStore(Protocol):
    """Stores effects, the planned writes to GitHub, for one attempt at one job.

    Each method commits, so no lock outlives a call.
    """

    def check_owner(self) -> None:
        """Raise an error unless this attempt still owns its job. Call it right before each write to GitHub."""
        ...

    def check_pause(self, key: EffectKey) -> None:
        """Raise an error while the operator pauses the installation of the object `key`, or all installations."""
        ...

    def load(self, key: EffectKey) -> Effect | None:
        """Return the stored state of the write to the object `key`; None when the bot never planned one."""
        ...

    def plan(self, key: EffectKey, content: str, *, is_new: bool = False) -> Effect | None:
        """Record that this attempt is about to write `content` to the object `key`; return the effect before the plan.

        The stored GitHub id stays, unless `is_new` says that its object is gone. Raises an error, changing nothing,
        when another attempt owns the job, or when a newer evaluation has planned this object.
        """
        ...

    def confirm(self, key: EffectKey, github_id: int) -> bool:
        """Record that GitHub holds the object `key` under the id `github_id`, with the content that was planned.

        Return False, changing nothing, when the plan in force is not the one of this attempt.
        """
        ...

    def mark_ambiguous(self, key: EffectKey, github_id: int | None) -> None:
        """Record that nobody knows for certain what the object `key` shows, whoever planned it.

        `github_id` is the object's id; None when the next attempt must look for the object.
        """
        ...
