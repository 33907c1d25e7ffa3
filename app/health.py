"""/healthz: this process is alive. /readyz: it can take deliveries. /metrics: what it counted."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from app.db.session import answers
from app.db.store import trainings, upkeep
from app.dispatch import Doorbell
from app.metrics import Metrics, Sample, render
from app.training import State, Training


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
        samples = self.metrics.samples() + await run_in_threadpool(self._stored_samples)
        return PlainTextResponse(render(samples), media_type="text/plain; version=0.0.4")

    def _database_answers(self) -> bool:
        return answers(self.database)

    def _broker_answers(self) -> bool:
        return self.doorbell.answers()

    def _stored_samples(self) -> tuple[Sample, ...]:
        try:
            with self.database.connect() as connection:
                counts, ignored = upkeep.counts(connection), upkeep.ignored(connection)
                held_up = upkeep.waiting(connection)
                training = trainings.last(connection)
        except SQLAlchemyError:
            return ()
        waiting = [count for count in counts if count.state == "ready"]
        return (
            *(training_samples(training, datetime.now(UTC)) if training else ()),
            *(
                Sample("r4p_jobs", count.jobs, (("queue", count.queue), ("state", count.state)))
                for count in counts
            ),
            *(
                Sample("r4p_ignored_deliveries_total", count, (("reason", reason),))
                for reason, count in ignored.items()
            ),
            *(
                Sample("r4p_jobs_lag_seconds", count.lag_seconds, (("queue", count.queue),))
                for count in waiting
            ),
            *(
                Sample(name, value, (("for", one.who),))
                for one in held_up
                for name, value in (
                    ("r4p_jobs_waiting", one.jobs),
                    ("r4p_jobs_waiting_seconds", one.seconds),
                )
            ),
        )


def training_samples(training: Training, now: datetime) -> tuple[Sample, ...]:
    """The newest training as numbers."""
    where = (("stage", training.stage.value), ("state", training.state.value))
    runs = training.state is State.RUNNING and training.beat_at is not None
    beat = (now - training.beat_at).total_seconds() if runs and training.beat_at else 0.0
    return (
        Sample("r4p_training", 1, where),
        *([Sample("r4p_training_beat_seconds", beat)] if runs else ()),
        *(
            Sample("r4p_training_metric", value, (("name", name),))
            for name, value in training.progress.items()
            if isinstance(value, int | float)
        ),
    )


def _timed(check: Callable[[], bool]) -> dict[str, bool | float]:
    started = time.perf_counter()
    answered = check()
    return {"ok": answered, "milliseconds": round((time.perf_counter() - started) * 1e3, 1)}
