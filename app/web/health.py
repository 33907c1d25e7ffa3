"""Answers `/healthz`, `/readyz` and `/metrics`."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from app.db.session import is_ready
from app.dispatch import Doorbell
from app.metrics import Metrics

CACHE_SECONDS: Final = 5.0
"""How long an answer is given again, so that many requests cost as much as one."""

Answer = TypeVar("Answer")


class CachedResult(Generic[Answer]):
    """The result of a function that reads the database, computed at most once in CACHE_SECONDS."""

    def __init__(self, compute: Callable[[], Answer], clock: Callable[[], float]) -> None:
        self._compute = compute
        self._clock = clock
        self._lock = asyncio.Lock()
        self._kept: tuple[float, Answer] | None = None
        """Time of the computation, and its result."""

    async def get(self) -> Answer:
        """Return the kept result while it is fresh. Otherwise one caller computes, and the others wait for it."""
        async with self._lock:
            if self._kept is None or self._clock() - self._kept[0] >= CACHE_SECONDS:
                started = self._clock()
                self._kept = (started, await run_in_threadpool(self._compute))
            return self._kept[1]


@dataclass(frozen=True, slots=True)
class Health:
    """Reports over HTTP whether this process, the database and the broker work."""

    database: Engine
    doorbell: Doorbell
    metrics: Metrics
    clock: Callable[[], float] = time.monotonic
    _checks: CachedResult[dict[str, dict[str, bool | float]]] = field(init=False)
    _scrape: CachedResult[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_checks", CachedResult(self._run_checks, self.clock))
        object.__setattr__(self, "_scrape", CachedResult(self.metrics.format_text, self.clock))

    async def answer_ready(self, _request: Request) -> Response:
        """Answer `/readyz`: 200 when the database answers, else 503.

        The status in the JSON is `ready`, `degraded` or `down`. It is `degraded` without the broker: work waits, but
        nothing is lost.
        """
        checks = await self._checks.get()
        has_database, has_broker = checks["database"]["ok"], checks["broker"]["ok"]
        status = "down" if not has_database else "ready" if has_broker else "degraded"
        code = 200 if has_database else 503
        return JSONResponse({"status": status, "checks": checks}, code)

    async def answer_scrape(self, _request: Request) -> Response:
        """Answer `/metrics` in Prometheus' text format.

        Without the database the answer holds only the counters of this process.
        """
        text = await self._scrape.get()
        return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    def _run_checks(self) -> dict[str, dict[str, bool | float]]:
        return {
            "database": _time_check(self._can_reach_database),
            "broker": _time_check(self._can_reach_broker),
        }

    def _can_reach_database(self) -> bool:
        return is_ready(self.database)

    def _can_reach_broker(self) -> bool:
        return self.doorbell.is_reachable()


def _time_check(check: Callable[[], bool]) -> dict[str, bool | float]:
    started = time.perf_counter()
    is_ok = check()
    return {"ok": is_ok, "milliseconds": round((time.perf_counter() - started) * 1e3, 1)}


async def answer_alive(_request: Request) -> Response:
    """Answer `/healthz`: 200 while the process runs."""
    return PlainTextResponse("ok\n")
