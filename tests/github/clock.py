"""The stand-in's clock: simulated time that can be moved forward.

Objects carry simulated time. What a client compares with its own clock (token expiry, rate-limit
resets) is given as the real moment at which the simulated one will be reached.
"""

import time
from datetime import UTC, datetime


class Clock:
    """Simulated seconds since the epoch: real time, and what was skipped."""

    def __init__(self) -> None:
        self._origin = time.time()
        self._started = time.monotonic()
        self._skipped = 0.0

    def now(self) -> float:
        """Return the simulated time in seconds since the epoch."""
        return self._origin + (time.monotonic() - self._started) + self._skipped

    def advance(self, seconds: float) -> None:
        """Skip simulated time."""
        self._skipped += seconds

    def wall_after(self, seconds: float) -> float:
        """Return the real time at which `seconds` of simulated time will have passed."""
        return time.time() + seconds


def timestamp(moment: float) -> str:
    """Format a time as GitHub does: UTC, whole seconds, a trailing Z."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def optional_timestamp(moment: float | None) -> str | None:
    """Format a time like `timestamp`; None stays None."""
    return None if moment is None else timestamp(moment)
