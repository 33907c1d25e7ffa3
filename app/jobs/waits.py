"""Reasons for which a job waits: GitHub, git, a limit, our key or the engine (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class WaitsFor(StrEnum):
    """What a job waits for before it can run. A wait does not count as an attempt of the job."""

    GITHUB = "github"
    """GitHub is down or its answers are unreadable."""
    GIT = "git"
    """Git cannot reach GitHub's repository."""
    LIMIT = "limit"
    """GitHub's rate limits, or the bot's own lower limits, are used up."""
    KEY = "key"
    """GitHub refuses the App's key: the key, the App id or this machine's clock is wrong."""
    ENGINE = "engine"
    """The language model or its weights are missing."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How often a job has waited in a row for the same thing `who`, and since when."""

    who: WaitsFor
    times: int
    """Attempts in a row with this reason."""
    since: datetime
    """Time of the first of these attempts."""
