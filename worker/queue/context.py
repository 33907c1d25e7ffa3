"""Give a job's handler the database with fenced transactions, and tell it when to stop."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Connection, Engine

from app.db.store.queue import jobs
from app.db.store.queue.effects import PostgresEffects
from app.db.store.queue.installation_controls import InstallationPaused
from app.db.store.queue.job_rows import Origin, StoredJob
from app.db.store.queue.jobs import ClaimedJob
from app.jobs.job import Planned
from app.values.identifiers import DeliveryGuid, EvaluationId
from model.errors import Cancelled
from worker.queue.errors import Postponed


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler gets for one attempt at one job: the job, the database, and when to stop.

    Handlers may run twice or stop halfway, so each commit must be complete by itself.
    """

    database: Engine
    """For reading only; writes use `transaction` or `fence`."""
    claimed: ClaimedJob
    lost: threading.Event
    """Set by the heartbeat when another worker may own the job."""
    stopping: Callable[[], bool]
    """Returns whether this process is about to end."""
    paused: threading.Event = field(default_factory=threading.Event)
    """Set by the heartbeat when the operator has paused the installation of the job, or all installations."""
    stored: list[StoredJob] = field(default_factory=list)
    """Follow-up jobs stored so far; the runner rings for them afterwards."""

    def keep_going(self) -> bool:
        """Return whether the handler may continue; call this between costly steps.

        It is False once another worker may own the job, the operator pauses the installation, or this process is about
        to end.
        """
        return not (self.lost.is_set() or self.paused.is_set() or self.stopping())

    def check(self) -> None:
        """Raise Cancelled if another worker may own the job, InstallationPaused, or Postponed if this process ends."""
        if self.lost.is_set():
            raise Cancelled(f"job {self.claimed.id} belongs to another worker")
        if self.paused.is_set():
            raise InstallationPaused(f"the operator paused installation {self.claimed.job.tenant}")
        if self.stopping():
            raise Postponed("this worker is shutting down", after_seconds=0)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield the connection of a new database transaction that locks the job's row.

        Raises Fenced if another worker owns the job.
        """
        with self.database.begin() as connection:
            self.fence(connection)
            yield connection

    def fence(self, connection: Connection) -> None:
        """Lock the job's row in the transaction of `connection`, so that only the job's owner writes in it.

        Raises Fenced if another worker owns the job.
        """
        jobs.fence(connection, self.claimed)

    def enqueue(
        self,
        connection: Connection,
        planned: Sequence[Planned],
        *,
        delivery: DeliveryGuid | None = None,
    ) -> None:
        """Store follow-up jobs in the transaction of `connection`, under a webhook delivery.

        `delivery` is its GUID; None: the delivery of this job. The runner tells workers about the jobs after the
        handler has ended.
        """
        origin = Origin(delivery or self.claimed.delivery, self.claimed.id)
        self.stored.extend(jobs.enqueue(connection, planned, origin))

    def open_effects(self, evaluation: EvaluationId | None = None) -> PostgresEffects:
        """Return the store of this job's writes to GitHub; `evaluation` is the one whose verdict is written, if any."""
        return PostgresEffects(self.database, self.claimed, evaluation)


class Handler(Protocol):
    """Carries out one kind of job."""

    def __call__(self, context: Context, job: Any, /) -> None:
        """Carry the job out. Returning is success; `worker.queue.errors` explains exceptions."""
