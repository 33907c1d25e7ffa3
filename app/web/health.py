"""/healthz: this process is alive. /readyz: it can take deliveries. /metrics: what it counted."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from app.db.session import answers
from app.dispatch import Doorbell
from app.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Health:
    """Answers how this process and what it stands on are doing."""

    database: Engine
    doorbell: Doorbell
    metrics: Metrics

    async def alive(self, _request: Request) -> Response:
        """200 as long as the process answers at all."""
        return PlainTextResponse("ok\n")

    async def ready(self, _request: Request) -> Response:
        """200 when the database answers; without the broker, work waits but nothing is lost."""
        database = await run_in_threadpool(_timed, self._database_answers)
        broker = await run_in_threadpool(_timed, self._broker_answers)
        status = "down" if not database["ok"] else "ready" if broker["ok"] else "degraded"
        checks = {"database": database, "broker": broker}
        code = 200 if database["ok"] else 503
        return JSONResponse({"status": status, "checks": checks}, code)

    async def scrape(self, _request: Request) -> Response:
        """Prometheus' text format; without the database, what this process counted itself."""
        text = await run_in_threadpool(self.metrics.exposition)
        return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    def _database_answers(self) -> bool:
        return answers(self.database)

    def _broker_answers(self) -> bool:
        return self.doorbell.answers()


def _timed(check: Callable[[], bool]) -> dict[str, bool | float]:
    started = time.perf_counter()
    answered = check()
    return {"ok": answered, "milliseconds": round((time.perf_counter() - started) * 1e3, 1)}
