"""What becomes of a job whose attempt raised (pure)."""

from dataclasses import dataclass
from datetime import datetime

from app.db.store.jobs import Fenced
from app.github.errors import Ambiguous, GitHubDown, Permanent, RateLimited, Unauthorized
from model.errors import EngineDown, Superseded, WeightsUnavailable
from worker.errors import GiveUp, Postponed

OUTAGE_SECONDS = 30.0
"""How long to wait for GitHub or an engine that is down, and before we look whether a write whose
answer was lost did happen: lists show it only after a while."""
LONGEST_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True)
class Again:
    """Ready once more, after a while."""

    after_seconds: float
    counts: bool
    """Whether the attempt is one of the few a job has."""


@dataclass(frozen=True, slots=True)
class Dead:
    """Given up; somebody has to look at it."""


@dataclass(frozen=True, slots=True)
class Aside:
    """Newer work does it."""


@dataclass(frozen=True, slots=True)
class NotOurs:
    """Nothing to write: somebody else has the job."""


Ending = Again | Dead | Aside | NotOurs


@dataclass(frozen=True, slots=True)
class Attempts:
    """Where a job stands, and how it is paced."""

    attempt: int
    limit: int
    first_delay_seconds: float
    """Doubles with each attempt."""

    @property
    def delay_seconds(self) -> float:
        """The pause after this attempt."""
        return min(self.first_delay_seconds * 2.0 ** (self.attempt - 1), LONGEST_SECONDS)


def ending(error: Exception, attempts: Attempts, now: datetime) -> Ending:
    """Waiting for others costs no attempt; our own failures do; what can't be mended ends at once."""
    match error:
        case Fenced():
            return NotOurs()
        case Superseded():
            return Aside()
    wait = _wait(error, now)
    if wait is not None:
        return Again(wait, counts=False)
    if isinstance(error, GiveUp | Permanent):
        return Dead()
    if attempts.attempt >= attempts.limit:
        return Dead()
    lost = isinstance(error, Ambiguous)
    return Again(max(attempts.delay_seconds, OUTAGE_SECONDS if lost else 0.0), counts=True)


def _wait(error: Exception, now: datetime) -> float | None:
    """Seconds until those we wait for may be ready; None: it is not them."""
    match error:
        case Postponed():
            return error.after_seconds
        case RateLimited():
            return min(max((error.retry_at - now).total_seconds(), 0.0), LONGEST_SECONDS)
        case GitHubDown() | EngineDown() | WeightsUnavailable():
            return OUTAGE_SECONDS
        case Unauthorized():  # a clock that is off, a key just changed: it would bury every job
            return OUTAGE_SECONDS
    return None
