"""What becomes of a job whose attempt raised (pure)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from app.db.store.queue.jobs import Fenced
from app.github.errors import Ambiguous, GitHubDown, OutOfTurn, Permanent, RateLimited, Unauthorized
from app.jobs.waits import Waits, WaitsFor
from model.errors import EngineDown, Superseded, WeightsUnavailable
from worker.git.hardened_git import GitUnreachable
from worker.queue.errors import GiveUp, Postponed

OUTAGE_SECONDS: Final = 30.0
"""How long to wait first for somebody who is down, and before we look whether a write whose answer
was lost did happen: lists show it only after a while."""
LIMIT_SECONDS: Final = 1.0
"""A limit says how long; how long at least when it keeps holding starts here."""
LONGEST_SECONDS: Final = 3_600.0
LONGEST_TURN_SECONDS: Final = 60.0
"""Our own pace says when the next turn is, so who had bad luck so far need not stay away for long."""
LONGEST_ENGINE_SECONDS: Final = 300.0
"""The engine is the operator's own: asking it costs nothing, and people wait for it to come back."""
UNKNOWN_FOR: Final = timedelta(days=1)
"""GitHub may not know us for so long: a key changed in the evening, a clock that is off. Later the
job is dead, to be asked for again once the key is mended."""


@dataclass(frozen=True, slots=True)
class Again:
    """Ready once more, after a while; the attempt is one of the few a job has."""

    after_seconds: float


@dataclass(frozen=True, slots=True)
class Wait:
    """Ready once more, after a while, as if this attempt had not been."""

    after_seconds: float
    who: WaitsFor | None = None
    """Who was not ready; None: nobody in particular."""


@dataclass(frozen=True, slots=True)
class Dead:
    """Given up; somebody has to look at it."""

    why: str = ""
    """What the error itself does not say."""


@dataclass(frozen=True, slots=True)
class Aside:
    """Newer work does it."""


@dataclass(frozen=True, slots=True)
class NotOurs:
    """Nothing to write: somebody else has the job."""


Ending = Again | Wait | Dead | Aside | NotOurs


@dataclass(frozen=True, slots=True)
class Attempts:
    """Where a job stands, and how it is paced."""

    attempt: int
    limit: int
    first_delay_seconds: float
    """Doubles with each attempt."""
    waited: Waits | None = None
    jitter: float = 0.0
    """At random, 0 up to 1: those who waited together shall not come back together."""

    @property
    def delay_seconds(self) -> float:
        """The pause after this attempt."""
        return _doubled(self.first_delay_seconds, self.attempt - 1)

    def patience_seconds(self, who: WaitsFor, first: float) -> float:
        """The pause before we ask them again: twice as long each time, less a share by chance."""
        times = self.waited.times if self.waited is not None and self.waited.who is who else 0
        longest = LONGEST_ENGINE_SECONDS if who is WaitsFor.ENGINE else LONGEST_SECONDS
        return min(_doubled(first, times), longest) * (1 - self.jitter / 4)


def ending(error: Exception, attempts: Attempts, now: datetime) -> Ending:
    """Waiting for others costs no attempt; our own failures do; what can't be mended ends at once."""
    match error:
        case Fenced():
            return NotOurs()
        case Superseded():
            return Aside()
        case Postponed():
            return Wait(error.after_seconds)
    who = _who(error)
    if who is not None:
        return _wait(error, who, attempts, now)
    if isinstance(error, GiveUp | Permanent) or attempts.attempt >= attempts.limit:
        return Dead()
    lost = isinstance(error, Ambiguous)
    return Again(max(attempts.delay_seconds, OUTAGE_SECONDS if lost else 0.0))


def _who(error: Exception) -> WaitsFor | None:
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


def _wait(error: Exception, who: WaitsFor, attempts: Attempts, now: datetime) -> Ending:
    if isinstance(error, RateLimited):
        asked = max((error.retry_at - now).total_seconds(), 0.0) * (1 + attempts.jitter / 4)
        patience = attempts.patience_seconds(who, LIMIT_SECONDS)
        if isinstance(error, OutOfTurn):
            patience = min(patience, LONGEST_TURN_SECONDS)
        return Wait(min(max(asked, patience), LONGEST_SECONDS), who)
    waited = attempts.waited
    refused = waited if waited is not None and waited.who is WaitsFor.KEY is who else None
    if refused is not None and now - refused.since > UNKNOWN_FOR:
        since = refused.since.astimezone(UTC)
        return Dead(f"refused {refused.times} times since {since:%Y-%m-%d %H:%M} UTC")
    return Wait(attempts.patience_seconds(who, OUTAGE_SECONDS), who)


def _doubled(first: float, times: int) -> float:
    return min(first * 2.0 ** min(times, 32), LONGEST_SECONDS)
