"""Renews a job's lease from a thread of its own while the job is being worked on."""

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
    """Beats while the context lasts; `lost` is set as soon as the job is no longer ours.

    While the database is away it goes on trying, and gives the job up when its lease must be over.
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
                ours = jobs.heartbeat(self._database, self._claimed, self._pace.lease_seconds)
            except SQLAlchemyError:
                ours = asked < sure_until
            else:
                sure_until = asked + self._pace.lease_seconds
            if not ours:
                self.lost.set()
                return
