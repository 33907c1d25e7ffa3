"""Claim, run and finish one attempt at one job of any kind. This module is the task boundary."""

import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Engine

from app.db.store.queue import jobs
from app.db.store.queue.jobs import ClaimedJob, StoredJob
from app.dispatch import Doorbell
from app.jobs.job import Queue
from app.settings import QueueSettings
from app.values.identifiers import JobId
from model.errors import Cancelled
from worker.queue.context import Context, Handler
from worker.queue.endings import (
    Attempts,
    GiveUpJob,
    LostLease,
    Retry,
    RetryLater,
    Supersede,
    decide_ending,
)
from worker.queue.errors import GiveUp, Postponed
from worker.queue.heartbeat import Heartbeat

GO_ON_SECONDS: Final = 5.0
"""After one ring a worker continues with due jobs for at least this time."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs jobs of the kinds that it has handlers for."""

    database: Engine
    handlers: Mapping[str, Handler]
    doorbell: Doorbell
    pace: QueueSettings
    stopping: Callable[[], bool] = lambda: False

    def answer(self, job: JobId, queue: Queue) -> int:
        """Run the job of the ring, then other due jobs of its queue, and return their number.

        A ring for a job that is gone or taken still starts the others.
        """
        started = time.monotonic()
        claimed = jobs.claim(self.database, job, self.pace.lease_seconds) or self._next(queue)
        ran = 0
        while claimed is not None:
            self.run(claimed)
            ran += 1
            if self.stopping() or time.monotonic() - started > GO_ON_SECONDS:
                break
            claimed = self._next(queue)
        return ran

    def run(self, claimed: ClaimedJob) -> None:
        """Run one attempt at a claimed job. Never raises for errors of the job's own work."""
        with Heartbeat(self.database, claimed, self.pace) as heartbeat:
            context = Context(self.database, claimed, heartbeat.lost, self.stopping)
            try:
                self._handler(claimed)(context, claimed.job)
            except Exception as error:  # noqa: BLE001 (the task boundary: recorded, logged once)
                self._end(claimed, self._postpone_on_shutdown(error, context))
            else:
                jobs.finish(self.database, claimed)
        self._ring(context.stored)

    def _next(self, queue: Queue) -> ClaimedJob | None:
        return jobs.claim_next(self.database, queue, self.pace.lease_seconds)

    def _handler(self, claimed: ClaimedJob) -> Handler:
        handler = self.handlers.get(claimed.job.kind)
        if handler is None:
            raise GiveUp(f"no handler for {claimed.job.kind}: have it run by a worker that has one")
        return handler

    def _postpone_on_shutdown(self, error: Exception, context: Context) -> Exception:
        """Map a handler's Cancelled to Postponed when this process ends: nothing replaced the job."""
        if isinstance(error, Cancelled) and self.stopping() and not context.lost.is_set():
            return Postponed("this worker is shutting down", after_seconds=0)
        return error

    def _end(self, claimed: ClaimedJob, error: Exception) -> None:
        attempts = Attempts(
            claimed.attempt,
            self.pace.max_attempts,
            self.pace.retry_seconds,
            claimed.waited,
            random.random(),
        )
        why = f"{type(error).__name__}: {error}"
        match decide_ending(error, attempts, datetime.now(UTC)):
            case LostLease():
                log.info("job %s is no longer ours", claimed.id)
            case Supersede():
                jobs.step_aside(self.database, claimed, why)
            case RetryLater(after_seconds, who):
                log.info("job %s waits %.0f s: %s", claimed.id, after_seconds, why)
                jobs.postpone(self.database, claimed, why, after_seconds, who)
            case Retry(after_seconds):
                log.warning("job %s failed: %s", _describe_job(claimed), why, exc_info=error)
                jobs.retry(self.database, claimed, why, after_seconds)
            case GiveUpJob(more):
                why = f"{why}; {more}" if more else why
                log.error("job %s gave up: %s", _describe_job(claimed), why, exc_info=error)
                jobs.bury(self.database, claimed, why)

    def _ring(self, stored: list[StoredJob]) -> None:
        for job in {job.id: job for job in stored if job.is_due}.values():
            if not self.doorbell.ring(job.queue, job.id):
                return  # the sweeper rings for what is left


def _describe_job(claimed: ClaimedJob) -> str:
    return f"{claimed.id} ({claimed.job.kind}, attempt {claimed.attempt})"
