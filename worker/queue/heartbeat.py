"""Renew a job's lease from a thread while a handler works on the job."""

import threading
import time
from types import TracebackType
from typing import Self

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from app.db.store.queue import jobs
from app.db.store.queue.jobs import ClaimedJob
from app.settings import QueueSettings


class Heartbeat:
    """Renews the lease while the context is open; `lost` is set when the job has another owner.

    While the database is away the thread keeps trying, and gives the job up when the lease must
    have ended.
    """

    def __init__(self, database: Engine, claimed: ClaimedJob, pace: QueueSettings) -> None:
        self.lost = threading.Event()
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
            asked = time.monotonic()
            try:
                is_held = jobs.heartbeat(self._database, self._claimed, self._pace.lease_seconds)
            except SQLAlchemyError:
                is_held = asked < sure_until
            else:
                sure_until = asked + self._pace.lease_seconds
            if not is_held:
                self.lost.set()
                return
