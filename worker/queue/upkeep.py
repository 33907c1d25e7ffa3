"""What runs by the clock: ring for due jobs, take back abandoned ones, tidy up."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from app.db.store.issues import purge
from app.db.store.queue import jobs, upkeep
from app.db.store.queue.jobs import StoredJob
from app.dispatch import Doorbell
from app.jobs.job import Planned, Queue
from app.settings import QueueSettings
from app.values.identifiers import JobId

ROOM: Final = 16
"""Rings that may lie in a queue unheard; more would only pile up while its workers are busy."""
ETAG_DAYS: Final = 30
JOB_DAYS: Final = 30
"""How long ended jobs can be looked at; those that gave up stay until somebody sees to them."""

log = logging.getLogger(__name__)

Tick = Callable[[Connection], Sequence[Planned]]
"""Decides by the clock what is worth looking at again; runs in one short transaction."""


@dataclass(slots=True)
class Upkeep:
    """Keeps the queue of record moving. Harmless when several do it at once."""

    database: Engine
    doorbell: Doorbell
    pace: QueueSettings
    ticks: Mapping[str, Tick]
    _said: int = field(default=0, init=False)
    """How many had given up when this process last said so."""

    def sweep(self) -> int:
        """Take back jobs whose lease ended, then ring for what is due. Returns how often it rang."""
        self._release()
        return sum(self._ring(queue) for queue in Queue)

    def tidy(self) -> None:
        """Drop what nobody needs any more, and say how much has given up when that changed.

        Deliveries are kept: what training learns from can be derived from them again.
        """
        with self.database.begin() as connection:
            upkeep.prune_etags(connection, ETAG_DAYS)
            upkeep.prune_jobs(connection, JOB_DAYS)
            upkeep.prune_dead(connection)
            purge.prune(connection)
            dead = upkeep.dead(connection, limit=1_000)
        changed = len(dead) != self._said
        self._said = len(dead)
        if dead and changed:
            log.warning(
                "%d jobs have given up (`r4p jobs` lists them), the newest: %s", len(dead), dead[0]
            )

    def tick(self, name: str) -> tuple[StoredJob, ...]:
        """Store the jobs that one of the clock's rules asks for; the next sweep rings for them."""
        with self.database.begin() as connection:
            return jobs.enqueue(connection, self.ticks[name](connection))

    def _release(self) -> tuple[JobId, ...]:
        try:
            with self.database.begin() as connection:
                dead = upkeep.release_expired(connection, self.pace.max_attempts)
        except IntegrityError:  # the same work was stored in this very moment: next sweep
            return ()
        for job in dead:
            log.error("job %s gave up: %s", job, upkeep.LEFT_BEHIND)
        return dead

    def _ring(self, queue: Queue) -> int:
        waiting = self.doorbell.waiting(queue)
        if waiting is None or waiting >= ROOM:
            return 0
        with self.database.begin() as connection:
            due = upkeep.due(connection, queue, ROOM - waiting)
        rung = 0
        for job in due:
            if not self.doorbell.ring(queue, job.id):
                break
            rung += 1
        return rung
