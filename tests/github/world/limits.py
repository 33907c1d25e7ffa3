"""GitHub's rate limits: the hourly budget, points a minute, and the content-creation meters."""

from collections import deque
from dataclasses import dataclass, field

from tests.github.clock import Clock
from tests.github.world.http_values import ApiError

PRIMARY = {"core": 5000, "graphql": 5000}
POINTS_PER_MINUTE = {"core": 900, "graphql": 2000}
CONTENT_PER_MINUTE = 80
CONTENT_PER_HOUR = 500
_SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
)


@dataclass(slots=True)
class Window:
    """A fixed hour of the primary budget."""

    ends_at: float = 0.0
    used: int = 0


@dataclass(slots=True)
class Meters:
    """The usage of one installation (or App, or anonymous client)."""

    windows: dict[str, Window] = field(default_factory=dict)
    points: dict[str, deque[tuple[float, int]]] = field(default_factory=dict)
    content: deque[float] = field(default_factory=deque)
    blocked_until: float = 0.0
    requests_while_blocked: int = 0
    refused: int = 0


class Limits:
    """All meters, by key (`installation:7`)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.limits = dict(PRIMARY)
        self.meters: dict[str, Meters] = {}

    def get_meters(self, key: str) -> Meters:
        """Return the meters of a client."""
        return self.meters.setdefault(key, Meters())

    def admit(self, key: str, resource: str, *, write: bool) -> None:
        """Count a request; 403 if the hourly budget, the points or a block refuse it."""
        meters, now = self.get_meters(key), self._clock.now()
        if now < meters.blocked_until:
            meters.requests_while_blocked += 1
            raise self.build_block_error(key, resource)
        window = self._window(key, resource)
        if window.used >= self.limits[resource]:
            meters.refused += 1
            raise ApiError(
                403, f"API rate limit exceeded for {key}.", headers=self.headers(key, resource)
            )
        cost = 5 if write else 1
        points = meters.points.setdefault(resource, deque())
        _forget(points, now - 60)
        if sum(c for _, c in points) + cost > POINTS_PER_MINUTE.get(resource, 900):
            meters.refused += 1
            raise self._secondary(60)
        points.append((now, cost))
        window.used += 1

    def admit_content(self, key: str) -> None:
        """Count a comment, review or check; 403 above 80 a minute or 500 an hour."""
        content, now = self.get_meters(key).content, self._clock.now()
        while content and content[0] <= now - 3600:
            content.popleft()
        recent = sum(moment > now - 60 for moment in content)
        if recent >= CONTENT_PER_MINUTE or len(content) >= CONTENT_PER_HOUR:
            self.get_meters(key).refused += 1
            raise self._secondary(60)
        content.append(now)

    def refund(self, key: str, resource: str) -> None:
        """Give a request back, because a 304 costs nothing of the primary limit."""
        self._window(key, resource).used -= 1

    def block(self, key: str, seconds: float) -> None:
        """Refuse everything from this client for some simulated seconds."""
        self.get_meters(key).blocked_until = self._clock.now() + seconds

    def build_block_error(self, key: str, resource: str) -> ApiError:
        """Build the refusal of a block as seen in production: no Retry-After, quota left, reset in the past."""
        past = str(int(self._clock.wall_after(0)) - 30)
        headers = self.headers(key, resource) | {"x-ratelimit-reset": past}
        return ApiError(403, _SECONDARY, headers=headers)

    def exhaust(self, key: str, resource: str = "core") -> None:
        """Use up the hourly budget."""
        self._window(key, resource).used = self.limits[resource]

    def headers(self, key: str, resource: str) -> dict[str, str]:
        """The `x-ratelimit-*` headers of every answer."""
        status = self.status(key, resource)
        return {f"x-ratelimit-{name}": str(value) for name, value in status.items()} | {
            "x-ratelimit-resource": resource
        }

    def status(self, key: str, resource: str) -> dict[str, int]:
        """Limit, remaining, reset (real seconds since the epoch) and used."""
        window = self._window(key, resource)
        limit = self.limits[resource]
        return {
            "limit": limit,
            "remaining": max(0, limit - window.used),
            "reset": int(self._clock.wall_after(window.ends_at - self._clock.now())) + 1,
            "used": window.used,
        }

    def _window(self, key: str, resource: str) -> Window:
        window = self.get_meters(key).windows.setdefault(resource, Window())
        if self._clock.now() >= window.ends_at:
            window.ends_at, window.used = self._clock.now() + 3600, 0
        return window

    def _secondary(self, seconds: int) -> ApiError:
        return ApiError(403, _SECONDARY, headers={"Retry-After": str(seconds)})


def _forget(points: deque[tuple[float, int]], before: float) -> None:
    while points and points[0][0] <= before:
        points.popleft()
