"""Limit the writes of one installation to GitHub over all processes.

GitHub allows 80 content-creating writes a minute and 500 an hour, shared with people in their browsers; the bot stays
below. Replies may use 40 % of each limit, so that people who write commands cannot delay verdicts. The decisions are
pure functions on `WriteLimits`, which a `LimiterStore` keeps.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from app.github.errors import RateLimited, WritePaceExceeded
from app.github.http.transport import Clock, get_utc_now
from app.values.identifiers import InstallationId

BURST: Final = 10
"""Writes that may leave at once after a pause."""
PER_SECOND: Final = 1.0
PER_MINUTE: Final = 60
PER_HOUR: Final = 400
REPLY_SHARE: Final = 0.4
"""Largest share of each limit that replies may use; the rest stays free for verdicts."""
RELAPSE_SECONDS: Final = 300.0
"""A limit this soon after the last one shows that the last pause was too short."""
LONGEST_WAIT_SECONDS: Final = 3.0
"""A worker waits at most this long for a free write; otherwise its job is postponed."""

Decided = TypeVar("Decided")


class WriteClass(StrEnum):
    """What a write is for. It decides how much of the limits the write may use."""

    VERDICT = "verdict"
    """Verdicts, drafts, and answers to people with triage permission. They may use the limits in full."""
    REPLY = "reply"
    """Answers to everybody else, and configuration checks. They may use `REPLY_SHARE` of each limit."""


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """The state of one installation's write limits; times are seconds since the epoch."""

    tokens: float = float(BURST)
    """Free writes at the time `counted_at`; negative when later writes are already reserved."""
    counted_at: float = 0.0
    writes: tuple[float, ...] = ()
    """Times of the last hour's writes, oldest first; some may lie a few seconds ahead."""
    replies: tuple[float, ...] = ()
    """Those of `writes` that have the class REPLY, in the same order."""
    blocked_until: float = 0.0
    """GitHub accepts no call before this time."""
    strikes: int = 0
    """How often in a row GitHub blocked again soon after a block."""


def find_write_time(
    limits: WriteLimits, now: float, kind: WriteClass = WriteClass.VERDICT
) -> float:
    """Return the earliest time at which the limits allow the next write of a class, `now` or later.

    Both times are seconds since the epoch. A reply also has to leave a share of each limit to verdicts.
    """
    earliest = max(now, limits.blocked_until, *limits.writes[-1:])
    earliest = max(earliest, _find_free_time(limits.writes, 1.0))
    needed = 1.0
    if kind is WriteClass.REPLY:
        earliest = max(earliest, _find_free_time(limits.replies, REPLY_SHARE))
        needed += BURST * (1.0 - REPLY_SHARE)
    missing = needed - _count_tokens(limits, now)
    return max(earliest, now + missing / PER_SECOND) if missing > 0 else earliest


def _find_free_time(writes: tuple[float, ...], share: float) -> float:
    """Return when the last minute and the last hour hold fewer `writes` than this share of their limits."""
    windows = ((int(PER_MINUTE * share), 60.0), (int(PER_HOUR * share), 3600.0))
    return max(
        (writes[-most] + seconds for most, seconds in windows if len(writes) >= most), default=0.0
    )


def reserve_write(
    limits: WriteLimits, now: float, patience: float, kind: WriteClass = WriteClass.VERDICT
) -> tuple[WriteLimits, float]:
    """Reserve the next free time for a write of a class, and return the new limits and this time.

    Times are seconds since the epoch. If the free time is more than `patience` seconds after `now`, the function
    reserves nothing and returns the limits unchanged. No later caller gets a reserved time.
    """
    moment = find_write_time(limits, now, kind)
    if moment - now > patience:
        return limits, moment
    reserved = (moment,) if kind is WriteClass.REPLY else ()
    changed = replace(
        limits,
        tokens=_count_tokens(limits, now) - 1.0,
        counted_at=now,
        writes=(*_keep_recent(limits.writes, now), moment),
        replies=(*_keep_recent(limits.replies, now), *reserved),
    )
    return changed, moment


def _keep_recent(writes: tuple[float, ...], now: float) -> tuple[float, ...]:
    return tuple(write for write in writes if write > now - 3600.0)[-(PER_HOUR - 1) :]


def freeze(limits: WriteLimits, now: float, until: float) -> WriteLimits:
    """Return the limits with all calls of the installation blocked until `until`, or longer.

    A shorter block never ends a longer one. If GitHub blocks again soon after a block, short blocks double each time.
    Times are seconds since the epoch.
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
    # A clock that went back neither adds nor removes tokens.
    rested = max(0.0, now - limits.counted_at) * PER_SECOND
    return min(float(BURST), limits.tokens + rested)


class LimiterStore(Protocol):
    """Stores `WriteLimits` per installation and changes them under a lock over all processes."""

    def change(
        self,
        installation: InstallationId,
        step: Callable[[WriteLimits], tuple[WriteLimits, Decided]],
    ) -> Decided:
        """Replace an installation's stored limits under a lock, and return the decision of `step`.

        `step` gets the limits (new ones if none are stored), and returns the changed limits and its decision.
        """
        ...

    def load(self, installation: InstallationId) -> WriteLimits:
        """Return the stored write limits of an installation, without a lock."""
        ...


@dataclass(frozen=True, slots=True)
class WritePermit:
    """Proof that one write to GitHub by this installation is within the limits."""

    installation: InstallationId


class Limiter:
    """Keeps writes to GitHub within the limits: it waits a few seconds for a free write, and refuses a longer wait."""

    def __init__(
        self,
        store: LimiterStore,
        *,
        clock: Clock = get_utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._clock = clock
        self._sleep = sleep

    def permit_write(
        self, installation: InstallationId, kind: WriteClass = WriteClass.VERDICT
    ) -> WritePermit:
        """Wait up to three seconds until the limits allow one more write of a class, and return its permit.

        Raises WritePaceExceeded, with the time of the next free write, when the wait would be longer. A reply never
        waits, because its reserved time would delay the verdicts after it.
        """
        now = self._clock().timestamp()
        patience = LONGEST_WAIT_SECONDS if kind is WriteClass.VERDICT else 0.0
        moment = self._store.change(
            installation, lambda limits: reserve_write(limits, now, patience, kind)
        )
        if moment - now > patience:
            raise WritePaceExceeded(
                f"installation {installation}: writes wait", _to_datetime(moment)
            )
        if moment > now:
            self._sleep(moment - now)
        return WritePermit(installation)

    def check_open(self, installation: InstallationId) -> None:
        """Raise RateLimited while GitHub blocks this installation; else do nothing."""
        until = self._store.load(installation).blocked_until
        if until > self._clock().timestamp():
            raise RateLimited(f"installation {installation} is frozen", _to_datetime(until))

    def freeze(self, installation: InstallationId, until: datetime) -> None:
        """Block all calls of this installation in all processes until `until`, or longer after repeated blocks."""
        now, end = self._clock().timestamp(), until.timestamp()
        self._store.change(installation, lambda limits: (freeze(limits, now, end), None))


def _to_datetime(seconds: float) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)
