"""Answers `/healthz`, `/readyz` and `/metrics` of the web process."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from app.db.session import is_ready
from app.dispatch import Doorbell
from app.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Health:
    """Reports over HTTP whether this process, the database and the broker work."""

    database: Engine
    doorbell: Doorbell
    metrics: Metrics

    async def answer_alive(self, _request: Request) -> Response:
        """Answer `/healthz`: 200 while the process runs."""
        return PlainTextResponse("ok\n")

    async def answer_ready(self, _request: Request) -> Response:
        """Answer `/readyz`: 200 when the database answers, else 503.

        The status in the JSON is `ready`, `degraded` or `down`. It is `degraded` without the broker: work waits, but
        nothing is lost.
        """
        database = await run_in_threadpool(_time_check, self._database_answers)
        broker = await run_in_threadpool(_time_check, self._broker_answers)
        status = "down" if not database["ok"] else "ready" if broker["ok"] else "degraded"
        checks = {"database": database, "broker": broker}
        code = 200 if database["ok"] else 503
        return JSONResponse({"status": status, "checks": checks}, code)

    async def answer_scrape(self, _request: Request) -> Response:
        """Answer `/metrics` in Prometheus' text format.

        Without the database the answer holds only the counters of this process.
        """
        text = await run_in_threadpool(self.metrics.format_text)
        return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    def _database_answers(self) -> bool:
        return is_ready(self.database)

    def _broker_answers(self) -> bool:
        return self.doorbell.is_reachable()


def _time_check(check: Callable[[], bool]) -> dict[str, bool | float]:
    started = time.perf_counter()
    is_ok = check()
    return {"ok": is_ok, "milliseconds": round((time.perf_counter() - started) * 1e3, 1)}
