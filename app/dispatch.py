"""The doorbell: the only module that sends messages to the Celery broker.

A ring says that a queue may have a due job. It names no job, because the worker claims the job whose turn it is. The
doorbell never retries a ring: the sweeper rings again while jobs are due. An unclaimed job is safe in PostgreSQL.
"""

import queue
import threading
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Final

from celery import Celery
from kombu.exceptions import ChannelError, KombuError, OperationalError
from redis.exceptions import RedisError

from app.db.store.queue.job_rows import StoredJob
from app.jobs.job import Queue
from app.metrics import Metrics

RUN_TASK: Final = "r4p.run"
"""The Celery task that claims and runs due jobs of a queue. Its argument is the queue."""

SOCKET_SECONDS: Final = 1.0

TIME_LIMIT_SECONDS: Final[Mapping[Queue, float | None]] = {
    Queue.EVENTS: 120,
    Queue.GITHUB: 1_800,
    Queue.VERIFY: 7_200,
    Queue.AGENTS: 7_200,
    Queue.WRITER: 1_800,
    Queue.TRAIN: None,
    Queue.TESTS: 7_200,
}
"""Seconds after which Celery kills a worker's child process and replaces it. The attempt counts. None: no limit."""

_BURST: Final = 4
"""Most rings for each queue in one batch. A worker that heard a ring goes on with the next due job by itself."""
_PAUSE_SECONDS: Final = 0.1

_DOWN: Final = (OperationalError, KombuError, RedisError, OSError)


class Doorbell:
    """Sends Celery messages that tell workers which queue may have a due job. Threads may share it and its few connections."""

    def __init__(self, redis_url: str) -> None:
        self._celery = Celery("r4p", broker=redis_url, set_as_current=False)
        self._celery.conf.update(
            broker_transport_options={
                "socket_timeout": SOCKET_SECONDS,
                "socket_connect_timeout": SOCKET_SECONDS,
                "max_retries": 0,
                "interval_start": 0,
            },
            broker_connection_retry=False,
            broker_connection_timeout=SOCKET_SECONDS,
            broker_pool_limit=4,
            task_publish_retry=False,
            task_ignore_result=True,
            task_serializer="json",
            worker_send_task_events=False,
        )

    def ring(self, queue: Queue) -> bool:
        """Tell the workers of a queue that a job may be due.

        Returns False if the broker did not take the message within about a second, else True.
        """
        try:
            self._celery.send_task(
                RUN_TASK,
                (queue.value,),
                queue=queue.value,
                retry=False,
                time_limit=TIME_LIMIT_SECONDS[queue],
            )
        except _DOWN:
            return False
        return True

    def count_waiting(self, queue: Queue) -> int | None:
        """Return the number of messages in a queue that no worker has taken yet; None: the broker does not answer."""
        try:
            with self._celery.pool.acquire(block=True, timeout=SOCKET_SECONDS) as connection:
                declared = connection.default_channel.queue_declare(queue.value, passive=True)
                return int(declared.message_count)
        except ChannelError:
            return 0  # nobody has declared this queue at the broker yet
        except _DOWN:
            return None

    def is_reachable(self) -> bool:
        """Report whether the broker answers within about a second."""
        return self.count_waiting(Queue.EVENTS) is not None

    def close(self) -> None:
        """Close the connections to the broker."""
        self._celery.close()


class BackgroundDoorbell:
    """Tells workers about due jobs from a thread of its own, so that no web request waits for the Celery broker.

    It sends only a few messages for a burst of jobs. While the broker is down, it drops them.
    """

    def __init__(self, doorbell: Doorbell, metrics: Metrics) -> None:
        self._doorbell = doorbell
        self._metrics = metrics
        self._jobs: queue.SimpleQueue[StoredJob | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="doorbell", daemon=True)

    def start(self) -> None:
        """Start the thread that sends the doorbell's Celery messages."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread that sends the doorbell's messages, after the message that it is sending now."""
        self._stopping.set()
        self._jobs.put(None)
        self._thread.join(3 * SOCKET_SECONDS)

    def ring_soon(self, jobs: Iterable[StoredJob]) -> None:
        """Ask the background thread to tell workers about those of `jobs` that are due. Never blocks."""
        for job in jobs:
            if job.is_due:
                self._jobs.put(job)

    def _work(self) -> None:
        while (batch := self._take_batch()) and not self._stopping.is_set():
            self._ring(batch)
            if len(batch) > _BURST:
                self._stopping.wait(_PAUSE_SECONDS)

    def _take_batch(self) -> list[StoredJob]:
        first = self._jobs.get()
        batch = [first]
        while not self._jobs.empty():
            batch.append(self._jobs.get())
        return [job for job in batch if job is not None]

    def _ring(self, batch: list[StoredJob]) -> None:
        for queue_, jobs in groupby(sorted(batch, key=_get_queue), key=_get_queue):
            for _ in list(jobs)[:_BURST]:
                if not self._doorbell.ring(queue_):
                    self._metrics.count_doorbell_failure()
                    return


def _get_queue(job: StoredJob) -> Queue:
    return job.queue
