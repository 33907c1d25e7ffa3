"""Claim, run and finish one attempt at one job of any kind; a thread renews its lease meanwhile.

This module is the task boundary.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from app import logs, tracing
from app.db.session import transaction
from app.db.store.queue import installation_controls, jobs
from app.db.store.queue.claim_statements import FIRST_TURN, Turn, take_turn
from app.db.store.queue.installation_controls import InstallationPaused
from app.db.store.queue.job_rows import StoredJob
from app.db.store.queue.jobs import ClaimedJob
from app.dispatch import Doorbell
from app.jobs.job import Queue
from app.settings import QueueSettings
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


class Heartbeat:
    """Renews a job's lease while the context is open; `lost` is set when the job has another owner.

    `paused` is set when the operator pauses the job's installation, so that costly work ends early. While the database does not answer, the thread keeps trying. It sets `lost` too once the lease must have ended.
    """

    def __init__(self, database: Engine, claimed: ClaimedJob, pace: QueueSettings) -> None:
        self.lost = threading.Event()
        self.paused = threading.Event()
        self._database = database
        self._claimed = claimed
        self._pace = pace
        self._over = threading.Event()
        name = f"heartbeat-{claimed.id}"
        self._thread = threading.Thread(target=self._beat, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        sure_until = time.monotonic() + self._pace.lease_seconds
        while not self._over.wait(self._pace.heartbeat_seconds):
            # Take the time before the query: the new lease starts no earlier, so `sure_until` never
            # claims more time than the database granted.
            asked = time.monotonic()
            try:
                is_held = jobs.renew_lease(self._database, self._claimed, self._pace.lease_seconds)
            # Without an answer the lease may still hold: go on until it must have ended.
            except SQLAlchemyError:
                is_held = asked < sure_until
            else:
                sure_until = asked + self._pace.lease_seconds
            if not is_held:
                self.lost.set()
                return
            if (
                self._claimed.job.queue is not Queue.EVENTS
            ):  # events are recorded during a pause, too
                self._look_for_pause()

    def _look_for_pause(self) -> None:
        # Without an answer the next beat asks again.
        with suppress(SQLAlchemyError), transaction(self._database) as connection:
            try:
                installation_controls.check_pause(connection, self._claimed.job.tenant)
            except InstallationPaused:
                self.paused.set()


GO_ON_SECONDS: Final = 5.0
"""After this time a worker takes no further job on the same ring."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Runner:
    """Claims due jobs, runs each with the handler of its kind, and stores how its attempt ended."""

    database: Engine
    handlers: Mapping[str, Handler]
    doorbell: Doorbell
    pace: QueueSettings
    stopping: Callable[[], bool] = lambda: False
    turns: dict[Queue, Turn] = field(default_factory=dict)
    """The last turn in each queue that this process served."""

    def answer(self, queue: Queue) -> int:
        """Run due jobs of `queue`, and return how many jobs ran. The installations take turns.

        After 5 s (GO_ON_SECONDS) no further job starts.
        """
        started = time.monotonic()
        claimed = self._next(queue)
        ran = 0
        while claimed is not None:
            self.run(claimed)
            ran += 1
            if self.stopping() or time.monotonic() - started > GO_ON_SECONDS:
                break
            claimed = self._next(queue)
        return ran

    def run(self, claimed: ClaimedJob) -> None:
        """Run one attempt at a claimed job, and store how the attempt ended.

        An error of the job's handler is stored and logged, and never raised. Every log line in between names the job.
        """
        with (
            logs.bind_ids(**_list_ids(claimed)),
            tracing.trace_work(claimed.job.kind, **_list_ids(claimed), attempt=claimed.attempt),
            Heartbeat(self.database, claimed, self.pace) as heartbeat,
        ):
            context = Context(
                self.database, claimed, heartbeat.lost, self.stopping, heartbeat.paused
            )
            try:
                self._get_handler(claimed)(context, claimed.job)
            except Exception as error:  # noqa: BLE001 (the task boundary: recorded, logged once)
                self._end(claimed, self._explain_stop(error, context))
            else:
                jobs.finish(self.database, claimed)
                log.debug("%s is done", claimed.job.kind)
        self._ring(context.stored)

    def _next(self, queue: Queue) -> ClaimedJob | None:
        turn = self.turns.get(queue, FIRST_TURN)
        claimed = jobs.claim_next(
            self.database,
            queue,
            self.pace.lease_seconds,
            after=turn.after,
            max_running=self.pace.max_running_per_installation,
        )
        if claimed is not None:
            self.turns[queue] = take_turn(turn, claimed.job.tenant, claimed.weight)
        return claimed

    def _get_handler(self, claimed: ClaimedJob) -> Handler:
        handler = self.handlers.get(claimed.job.kind)
        if handler is None:
            raise GiveUp(
                f"no handler for {claimed.job.kind}: start a worker that handles this kind"
            )
        return handler

    def _explain_stop(self, error: Exception, context: Context) -> Exception:
        """Return the reason for a handler's Cancelled when nothing replaced the job: a pause, or the process ends."""
        if not isinstance(error, Cancelled) or context.lost.is_set():
            return error
        if context.paused.is_set():
            return InstallationPaused("the operator paused the installation")
        if self.stopping():
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
        tracing.mark_failure(why)
        match decide_ending(error, attempts, datetime.now(UTC)):
            case LostLease():
                log.info("job %s belongs to another worker", claimed.id)
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
        # Ring after the handler, outside its transactions: a worker must find the committed rows.
        for job in {job.id: job for job in stored if job.is_due}.values():
            if not self.doorbell.ring(job.queue):
                return  # the sweeper rings for what is left


def _list_ids(claimed: ClaimedJob) -> dict[str, Any]:
    """List what a log line and a span of this job name: the job, its delivery, and what its payload is about."""
    payload = claimed.job.to_payload()
    about = {name: payload.get(name) for name in ("repository", "evaluation")}
    return {"job": claimed.id, "delivery": claimed.delivery, **about}


def _describe_job(claimed: ClaimedJob) -> str:
    return f"{claimed.id} ({claimed.job.kind}, attempt {claimed.attempt})"
