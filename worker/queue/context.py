"""What a use case is given beside its job: the database behind a fence, and when to stop."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from sqlalchemy import Connection, Engine

from app.db.store.queue import jobs
from app.db.store.queue.jobs import ClaimedJob, StoredJob
from app.jobs.job import Planned
from model.errors import Superseded
from worker.queue.errors import Postponed


@dataclass(frozen=True, slots=True)
class Context:
    """One attempt at one job. Handlers may run twice, and half: each commit must stand alone."""

    database: Engine
    """For reading; what is written goes through `transaction` or `fence`."""
    claimed: ClaimedJob
    lost: threading.Event
    stopping: Callable[[], bool]
    """Whether this process is about to end."""
    stored: list[StoredJob] = field(default_factory=list)
    """Follow-up jobs stored so far; their bell is rung after this one."""

    def keep_going(self) -> bool:
        """False: the job is no longer ours, or this process ends. Ask between costly steps."""
        return not self.lost.is_set() and not self.stopping()

    def check(self) -> None:
        """Raises what ends this attempt properly when `keep_going` is False."""
        if self.lost.is_set():
            raise Superseded(f"job {self.claimed.id} is no longer ours")
        if self.stopping():
            raise Postponed("this worker is shutting down", after_seconds=0)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """One short fenced transaction. Raises Fenced when the job is no longer ours."""
        with self.database.begin() as connection:
            self.fence(connection)
            yield connection

    def fence(self, connection: Connection) -> None:
        """Let only the holder of the job write in this transaction. Raises Fenced."""
        jobs.fence(connection, self.claimed)

    def enqueue(self, connection: Connection, planned: Sequence[Planned]) -> None:
        """Store follow-up jobs with this transaction, under the delivery this job came from."""
        delivery = self.claimed.delivery
        self.stored.extend(jobs.enqueue(connection, planned, delivery=delivery))


class Handler(Protocol):
    """Carries out one kind of job; the job's type is the one registered for that kind."""

    def __call__(self, context: Context, job: Any, /) -> None:
        """Do it. Returning is success; `worker.queue.errors` says what raising means."""
