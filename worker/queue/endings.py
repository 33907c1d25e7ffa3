"""Decide what happens to a job whose attempt raised an error (pure)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from app.db.store.queue.installation_controls import InstallationPaused
from app.db.store.queue.jobs import Fenced
from app.github.errors import (
    Ambiguous,
    GitHubDown,
    Permanent,
    RateLimited,
    Unauthorized,
    WritePaceExceeded,
)
from app.jobs.waits import Waits, WaitsFor
from model.errors import Cancelled, EngineDown, WeightsUnavailable
from worker.git.hardened_git import GitUnreachable
from worker.queue.errors import GiveUp, Postponed

OUTAGE_SECONDS: Final = 30.0
"""First delay after an outage, and before checking whether a write with a lost answer happened:
GitHub's lists show it late."""
LIMIT_SECONDS: Final = 1.0
"""A rate limit names its own delay; this is the first minimum when limits repeat."""
LONGEST_SECONDS: Final = 3_600.0
LONGEST_TURN_SECONDS: Final = 60.0
"""Longest delay for the bot's own write limit, which knows when the next write is free."""
LONGEST_ENGINE_SECONDS: Final = 300.0
"""Longest delay for the engine: asking it is cheap, and people wait for it."""
UNKNOWN_FOR: Final = timedelta(days=1)
"""How long GitHub may refuse the App's key, for example after a key change. Then the job is dead
until somebody requeues it."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Ending of a job's attempt: run the job again later; the attempt counts against the job's limit."""

    after_seconds: float


@dataclass(frozen=True, slots=True)
class RetryLater:
    """Ending of a job's attempt: run the job again later; the attempt does not count against the job's limit."""

    after_seconds: float
    who: WaitsFor | None = None
    """What was not ready; None for nothing in particular."""


@dataclass(frozen=True, slots=True)
class GiveUpJob:
    """Ending of a job's attempt: give up; a person has to look at the job."""

    why: str = ""
    """A reason that the error's own message lacks; empty when the message is enough."""


@dataclass(frozen=True, slots=True)
class Supersede:
    """Ending of a job's attempt: close the job, because newer work replaced it."""


@dataclass(frozen=True, slots=True)
class LostLease:
    """Ending of a job's attempt: write nothing, because another worker owns the job."""


Ending = Retry | RetryLater | GiveUpJob | Supersede | LostLease


@dataclass(frozen=True, slots=True)
class Attempts:
    """How often a job was tried and postponed, to compute the delay before its next attempt."""

    attempt: int
    limit: int
    first_delay_seconds: float
    """Doubles with each attempt."""
    waited: Waits | None = None
    jitter: float = 0.0
    """A random number from 0 to 1, so that waiting jobs do not all come back at once."""

    @property
    def delay_seconds(self) -> float:
        """Return the seconds until the job's next attempt: they double with each attempt, up to an hour."""
        return _double(self.first_delay_seconds, self.attempt - 1)

    def compute_wait_seconds(self, who: WaitsFor, first: float) -> float:
        """Return the seconds until the next try of a job that waits for `who`, such as GitHub or the engine.

        The delay starts at `first` seconds, doubles with each wait up to a limit, and is shortened by a random share.
        """
        times = self.waited.times if self.waited is not None and self.waited.who is who else 0
        longest = LONGEST_ENGINE_SECONDS if who is WaitsFor.ENGINE else LONGEST_SECONDS
        return min(_double(first, times), longest) * (1 - self.jitter / 4)


def decide_ending(error: Exception, attempts: Attempts, now: datetime) -> Ending:
    """Return the ending of a job's attempt that raised `error`, such as Retry or GiveUpJob (pure).

    `attempts` holds the counts that decide the delay. Waiting for GitHub, git or an engine costs no attempt; other
    errors cost one. A permanent error ends the job.
    """
    match error:
        case Fenced():
            return LostLease()
        case Cancelled():
            return Supersede()
        case Postponed() | InstallationPaused():
            # No worker claims a job during a pause, so it needs no delay.
            return RetryLater(error.after_seconds if isinstance(error, Postponed) else 0)
    who = _find_cause(error)
    if who is not None:
        return _decide_wait(error, who, attempts, now)
    if isinstance(error, GiveUp | Permanent) or attempts.attempt >= attempts.limit:
        return GiveUpJob()
    lost = isinstance(error, Ambiguous)
    return Retry(max(attempts.delay_seconds, OUTAGE_SECONDS if lost else 0.0))


def _find_cause(error: Exception) -> WaitsFor | None:
    match error:
        case RateLimited():
            return WaitsFor.LIMIT
        case GitHubDown():
            return WaitsFor.GITHUB
        case GitUnreachable():
            return WaitsFor.GIT
        case EngineDown() | WeightsUnavailable():
            return WaitsFor.ENGINE
        case Unauthorized():
            return WaitsFor.KEY
    return None


def _decide_wait(error: Exception, who: WaitsFor, attempts: Attempts, now: datetime) -> Ending:
    if isinstance(error, RateLimited):
        asked = max((error.retry_at - now).total_seconds(), 0.0) * (1 + attempts.jitter / 4)
        patience = attempts.compute_wait_seconds(who, LIMIT_SECONDS)
        if isinstance(error, WritePaceExceeded):
            patience = min(patience, LONGEST_TURN_SECONDS)
        return RetryLater(min(max(asked, patience), LONGEST_SECONDS), who)
    waited = attempts.waited
    refused = waited if waited is not None and waited.who is WaitsFor.KEY is who else None
    if refused is not None and now - refused.since > UNKNOWN_FOR:
        since = refused.since.astimezone(UTC)
        return GiveUpJob(f"refused {refused.times} times since {since:%Y-%m-%d %H:%M} UTC")
    return RetryLater(attempts.compute_wait_seconds(who, OUTAGE_SECONDS), who)


def _double(first: float, times: int) -> float:
    return min(first * 2.0 ** min(times, 32), LONGEST_SECONDS)
