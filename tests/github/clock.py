"""The stand-in's clock: simulated time that runs faster than real time and can be moved forward.

Objects carry simulated time. What a client compares with its own clock (token expiry, rate-limit
resets) is given as the real moment at which the simulated one will be reached.
"""

import time
from datetime import UTC, datetime


class Clock:
    """Simulated seconds since the epoch: real time at the start, then `scale` times as fast."""

    def __init__(self, scale: float = 1.0) -> None:
        if scale <= 0:
            raise ValueError(f"time scale {scale} must be above 0")
        self.scale = scale
        self._origin = time.time()
        self._started = time.monotonic()
        self._skipped = 0.0

    def now(self) -> float:
        """Return the simulated time in seconds since the epoch."""
        return self._origin + (time.monotonic() - self._started) * self.scale + self._skipped

    def advance(self, seconds: float) -> None:
        """Skip simulated time; ValueError for a negative number."""
        if seconds < 0:
            raise ValueError(f"the clock cannot go back ({seconds} s)")
        self._skipped += seconds

    def wall_after(self, seconds: float) -> float:
        """Return the real time at which `seconds` of simulated time will have passed."""
        return time.time() + seconds / self.scale


def timestamp(moment: float) -> str:
    """Format a time as GitHub does: UTC, whole seconds, a trailing Z."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def optional_timestamp(moment: float | None) -> str | None:
    """Format a time like `timestamp`; None stays None."""
    return None if moment is None else timestamp(moment)
