"""Maintain the queue at regular times: ring for due jobs, release abandoned ones, delete old ones."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from app.db.store.issues import purge
from app.db.store.queue import jobs, upkeep
from app.db.store.queue.job_rows import StoredJob
from app.dispatch import Doorbell
from app.jobs.job import Planned, Queue
from app.settings import QueueSettings
from app.values.identifiers import JobId

MAX_RINGS: Final = 16
"""Most unread rings in a queue; more would only pile up while its workers are busy."""
ETAG_DAYS: Final = 30
JOB_DAYS: Final = 30
"""Days that ended jobs are kept; jobs that gave up stay until somebody handles them."""

log = logging.getLogger(__name__)

Tick = Callable[[Connection], Sequence[Planned]]
"""Plans jobs at regular times, in one short transaction."""


@dataclass(slots=True)
class Upkeep:
    """Releases jobs with an expired lease, rings for due jobs, deletes old rows and stores periodic jobs.

    Several processes may run these methods at once.
    """

    database: Engine
    doorbell: Doorbell
    pace: QueueSettings
    ticks: Mapping[str, Tick]
    _said: int = field(default=0, init=False)
    """Number of dead jobs at the last warning."""

    def sweep(self) -> int:
        """Release jobs with an expired lease, send a doorbell message per due job, and return how many were sent."""
        self._release()
        return sum(self._ring(queue) for queue in Queue)

    def tidy(self) -> None:
        """Delete old jobs and cached responses, and log a warning when the number of dead jobs changed.

        Webhook deliveries stay: training data can be derived from them again.
        """
        with self.database.begin() as connection:
            upkeep.prune_etags(connection, ETAG_DAYS)
            upkeep.prune_jobs(connection, JOB_DAYS)
            upkeep.prune_dead(connection)
            purge.prune(connection)
            dead = upkeep.list_dead(connection, limit=1_000)
        changed = len(dead) != self._said
        self._said = len(dead)
        if dead and changed:
            log.warning(
                "%d jobs have given up (`r4p jobs` lists them), the newest: %s", len(dead), dead[0]
            )

    def tick(self, name: str) -> tuple[StoredJob, ...]:
        """Store the jobs that the periodic rule `name`, such as `reconcile`, plans now, and return them.

        The next sweep sends doorbell messages for them.
        """
        with self.database.begin() as connection:
            return jobs.enqueue(connection, self.ticks[name](connection))

    def _release(self) -> tuple[JobId, ...]:
        try:
            with self.database.begin() as connection:
                dead = upkeep.release_expired(connection, self.pace.max_attempts)
        except IntegrityError:  # the same work was stored at this moment; the next sweep continues
            return ()
        for job in dead:
            log.error("job %s gave up: %s", job, upkeep.LEFT_BEHIND)
        return dead

    def _ring(self, queue: Queue) -> int:
        waiting = self.doorbell.count_waiting(queue)
        if waiting is None or waiting >= MAX_RINGS:
            return 0
        with self.database.begin() as connection:
            due_jobs = upkeep.list_due(connection, queue, MAX_RINGS - waiting)
        for rung, _ in enumerate(due_jobs):
            if not self.doorbell.ring(queue):
                return rung
        return len(due_jobs)
