"""What we wrote on GitHub, planned before it is sent, so that a crash never doubles it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from app.values.identifiers import RepositoryRef


class EffectState(StrEnum):
    """How sure we are of a write."""

    PLANNED = "planned"
    """About to be sent; found by a later attempt, it may have happened."""
    CONFIRMED = "confirmed"
    AMBIGUOUS = "ambiguous"
    """Sent, and its answer was lost."""


@dataclass(frozen=True, slots=True)
class EffectKey:
    """Names one thing of ours on GitHub: one canonical comment, one check run on one head."""

    repository: RepositoryRef
    name: str
    """Such as `comment:group:7`; unique over all repositories."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The state of one such thing."""

    state: EffectState
    github_id: int | None
    """None until it is known to exist."""
    digest: str | None
    """SHA-256 of what GitHub was last known to show."""

    def shows(self, digest: str) -> bool:
        """Whether GitHub is known to show exactly this."""
        return self.state is EffectState.CONFIRMED and self.digest == digest


class EffectStore(Protocol):
    """Keeps effects; each method is one committed transaction, so no lock outlives a call."""

    def load(self, key: EffectKey) -> Effect | None:
        """What is known, None when it was never planned."""
        ...

    def plan(self, key: EffectKey, github_id: int | None) -> None:
        """A write is about to leave: PLANNED, with the id when it is an edit, None for a new one."""
        ...

    def confirm(self, key: EffectKey, github_id: int, digest: str) -> None:
        """It exists under this id and shows this."""
        ...

    def mark_ambiguous(self, key: EffectKey) -> None:
        """Its answer was lost; the id, if one is known, stays."""
        ...
