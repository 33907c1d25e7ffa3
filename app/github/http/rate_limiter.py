"""One pace per installation, shared by all processes: when may the next write leave?

GitHub allows 80 content-creating writes a minute and 500 an hour, shared with people at their
browsers; we aim below. The decisions are pure functions on `AttemptLimits`; where it is kept is behind
`LimiterStore`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeVar

from app.github.errors import RateLimited, WritePaceExceeded
from app.github.http.transport import Clock, utc_now
from app.values.identifiers import InstallationId

BURST: Final = 10
"""Writes that may leave at once after a rest."""
PER_SECOND: Final = 1.0
PER_MINUTE: Final = 60
PER_HOUR: Final = 400
RELAPSE_SECONDS: Final = 300.0
"""A limit this soon after the last one shows that the last silence was too short."""
LONGEST_WAIT_SECONDS: Final = 3.0
"""A worker waits this long for its turn; for longer, the job goes back to the queue."""

Decided = TypeVar("Decided")


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """What is known of one installation's pace; times are seconds since the epoch."""

    tokens: float = float(BURST)
    """Writes in hand at `counted_at`; below zero when turns ahead are promised."""
    counted_at: float = 0.0
    writes: tuple[float, ...] = ()
    """Turns given in the last hour, oldest first; some may lie a few seconds ahead."""
    blocked_until: float = 0.0
    """GitHub asked for silence until then."""
    strikes: int = 0
    """How often in a row it asked again soon after a silence had ended."""


def find_write_time(limits: WriteLimits, now: float) -> float:
    """The earliest moment at which one more write may leave."""
    writes = limits.writes
    earliest = max(now, limits.blocked_until)
    if writes:
        earliest = max(earliest, writes[-1])
    missing = 1.0 - _count_tokens(limits, now)
    if missing > 0:
        earliest = max(earliest, now + missing / PER_SECOND)
    if len(writes) >= PER_MINUTE:
        earliest = max(earliest, writes[-PER_MINUTE] + 60.0)
    if len(writes) >= PER_HOUR:
        earliest = max(earliest, writes[-PER_HOUR] + 3600.0)
    return earliest


def reserve_write(limits: WriteLimits, now: float, patience: float) -> tuple[WriteLimits, float]:
    """The turn's moment, and the limits after it; unchanged when it is further off than `patience`.

    A turn a little ahead is promised, so that nobody who asks later comes before.
    """
    moment = find_write_time(limits, now)
    if moment - now > patience:
        return limits, moment
    recent = tuple(w for w in limits.writes if w > now - 3600.0)[-(PER_HOUR - 1) :]
    left = _count_tokens(limits, now) - 1.0
    return replace(limits, tokens=left, counted_at=now, writes=(*recent, moment)), moment


def freeze(limits: WriteLimits, now: float, until: float) -> WriteLimits:
    """Nothing leaves before `until`; an earlier thaw never shortens a later one.

    Asked again soon after a thaw, a short silence lasts twice as long each time.
    """
    thawed = limits.blocked_until
    strikes = limits.strikes
    if thawed <= now:
        strikes = strikes + 1 if now - thawed < RELAPSE_SECONDS else 0
    wait = until - now
    if wait <= RELAPSE_SECONDS:
        wait *= 2.0 ** min(strikes, 4)
    return replace(limits, blocked_until=max(thawed, now + wait), strikes=strikes)


def _count_tokens(limits: WriteLimits, now: float) -> float:
    # A clock that went back gives nothing and takes nothing.
    rested = max(0.0, now - limits.counted_at) * PER_SECOND
    return min(float(BURST), limits.tokens + rested)


class LimiterStore(Protocol):
    """Keeps `AttemptLimits` per installation, one change at a time over all processes."""

    def change(
        self,
        installation: InstallationId,
        step: Callable[[WriteLimits], tuple[WriteLimits, Decided]],
    ) -> Decided:
        """Apply `step` to the stored limits (fresh ones when there are none) under a lock.

        Stores the new limits and returns what was decided.
        """
        ...

    def load(self, installation: InstallationId) -> WriteLimits:
        """The limits as they stand, without a lock."""
        ...


@dataclass(frozen=True, slots=True)
class WritePermit:
    """Proof that one write of this installation had its turn; good for one call."""

    installation: InstallationId


class Limiter:
    """Asks for turns, waits for short ones and refuses long ones."""

    def __init__(
        self,
        store: LimiterStore,
        *,
        clock: Clock = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._clock = clock
        self._sleep = sleep

    def permit_write(self, installation: InstallationId) -> WritePermit:
        """Wait for a turn to write, three seconds at most. Raises OutOfTurn for a longer wait."""
        now = self._clock().timestamp()
        moment = self._store.change(
            installation, lambda limits: reserve_write(limits, now, LONGEST_WAIT_SECONDS)
        )
        if moment - now > LONGEST_WAIT_SECONDS:
            raise WritePaceExceeded(
                f"installation {installation}: writes wait", _to_datetime(moment)
            )
        if moment > now:
            self._sleep(moment - now)
        return WritePermit(installation)

    def check_open(self, installation: InstallationId) -> None:
        """Raises RateLimited while GitHub has asked this installation for silence."""
        until = self._store.load(installation).blocked_until
        if until > self._clock().timestamp():
            raise RateLimited(f"installation {installation} is frozen", _to_datetime(until))

    def freeze(self, installation: InstallationId, until: datetime) -> None:
        """Let nothing of this installation leave before `until`, in any process."""
        now, end = self._clock().timestamp(), until.timestamp()
        self._store.change(installation, lambda limits: (freeze(limits, now, end), None))


def _to_datetime(seconds: float) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)
