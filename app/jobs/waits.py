"""Whom a job waits for: GitHub, git, a limit, our own key, the engine; since when and how often (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class WaitsFor(StrEnum):
    """Somebody else who is not ready. That costs a job no attempt."""

    GITHUB = "github"
    """Down, or answering what can't be read."""
    GIT = "git"
    """The way to GitHub's git is broken or closed."""
    LIMIT = "limit"
    """GitHub's limits, or our own that keep below them."""
    KEY = "key"
    """GitHub doesn't know us: the key, the App id or this machine's clock."""
    ENGINE = "engine"
    """The language model is away, or its weights are."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How a job has waited, for one and the same."""

    who: WaitsFor
    times: int
    """Attempts in a row that ended so."""
    since: datetime
    """The first of them."""
