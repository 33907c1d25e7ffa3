"""Maintain the queue at regular times: ring for due jobs, release abandoned ones, delete old ones."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError, OperationalError

from app.db.store.evidence import baselines
from app.db.store.issues import purge, retention
from app.db.store.queue import command_answers, jobs, upkeep
from app.db.store.queue.job_rows import StoredJob
from app.dispatch import Doorbell
from app.jobs.job import Planned, Queue
from app.settings import QueueSettings, RetentionSettings
from app.values.identifiers import JobId

MAX_RINGS: Final = 16
"""Most unread rings in a queue; more would only pile up while its workers are busy."""
ETAG_DAYS: Final = 30
BASELINE_DAYS: Final = 30
JOB_DAYS: Final = 30
"""Days that ended jobs are kept; jobs that gave up stay until somebody handles them."""

ROWS: Final = 5_000
ISSUES: Final = 100
"""Rows, and issues with all their rows, that one transaction of the retention deletes."""
MAX_BATCHES: Final = 20
"""Most such transactions of one kind in one call."""

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
    keep: RetentionSettings = field(default_factory=RetentionSettings)
    _warned_dead: int = field(default=0, init=False)
    """Number of dead jobs at the last warning."""

    def sweep(self) -> int:
        """Release jobs with an expired lease, send a doorbell message per due job, and return how many were sent."""
        self._release()
        return sum(self._ring(queue) for queue in Queue)

    def tidy(self) -> None:
        """Delete old jobs, answers and cached responses, and log a warning when the number of dead jobs changed."""
        with self.database.begin() as connection:
            upkeep.prune_etags(connection, ETAG_DAYS)
            upkeep.prune_jobs(connection, JOB_DAYS)
            upkeep.prune_dead(connection)
            command_answers.prune(connection)
            purge.prune(connection)
            baselines.prune(connection, BASELINE_DAYS)
            dead = upkeep.list_dead(connection, limit=1_000)
        changed = len(dead) != self._warned_dead
        self._warned_dead = len(dead)
        if dead and changed:
            log.warning(
                "%d jobs have given up (`r4p jobs` lists them), the newest: %s", len(dead), dead[0]
            )

    def retain(self) -> None:
        """Delete data that is older than the settings allow, and create the partitions of the next months.

        Each step commits by itself, and does a bounded amount of work. The next call continues.
        """
        keep = self.keep
        self._maintain("delivery_bodies", keep.keep_deliveries_days)
        self._maintain("votes", keep.keep_votes_days)
        if keep.keep_deliveries_days is not None:
            self._repeat(retention.delete_old_deliveries, keep.keep_deliveries_days, ROWS)
        if keep.keep_evaluations_days is not None:
            self._repeat(retention.delete_old_evaluations, keep.keep_evaluations_days, ISSUES)
            self._repeat(retention.delete_old_outcomes, keep.keep_evaluations_days, ROWS)

    def _maintain(self, table: str, days: int | None) -> None:
        try:
            with self.database.begin() as connection:
                dropped = retention.maintain_partitions(connection, table, days)
        except (
            OperationalError
        ) as error:  # the table is in use; rows of a new month wait in the default partition
            log.warning("the partitions of %s were not maintained: %s", table, error.orig)
            return
        if dropped:
            log.info("dropped %d months of %s, older than %s days", dropped, table, days)

    def _repeat(self, delete: Callable[[Connection, int, int], int], days: int, limit: int) -> None:
        """Delete in batches of `limit`, each in its own transaction, until one is not full."""
        for _ in range(MAX_BATCHES):
            with self.database.begin() as connection:
                if delete(connection, days, limit) < limit:
                    return

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
