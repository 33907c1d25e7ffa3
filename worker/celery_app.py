"""The Celery object: queues, limits, the clock. `worker/celery_command.py` runs Celery's command on it."""

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from functools import cache
from multiprocessing.synchronize import Event
from typing import Final

from celery import Celery
from celery.signals import beat_init, setup_logging, worker_shutdown, worker_shutting_down

from app import logs
from app.jobs.job import Queue
from app.settings import BrokerSettings, LogSettings, QueueSettings, load
from worker import wiring
from worker.queue import tasks
from worker.queue.tasks import Runtime

log = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 20.0
"""After SIGTERM running jobs have this long to stop by themselves; supervisors kill after 30."""
TIDY_SECONDS: Final = 600.0
CHECKOUTS_SECONDS: Final = 3_600.0
ADAPTERS_SECONDS: Final = 3_600.0
TRAINING_SECONDS: Final = 600.0
"""How often we look whether a training is due; beat keeps nothing on disk, so a day could never pass in it."""

MakeRuntime = Callable[[QueueSettings, BrokerSettings, Callable[[], bool]], Runtime]
"""Settings, and whether this process is stopping, to what a worker process works with."""


def create(
    broker: BrokerSettings,
    pace: QueueSettings,
    make: MakeRuntime,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Celery:
    """A Celery application whose tasks run on what `make` makes in each child process."""
    celery = Celery("r4p-worker", broker=broker.redis_url)
    celery.conf.update(_configuration(pace))
    celery.conf.beat_schedule = _schedule(pace)
    stopping = _stopping(patience_seconds)

    @cache  # once per child process: the parent runs no task, so a fork copies nothing
    def runtime() -> Runtime:
        return make(pace, broker, stopping.is_set)

    tasks.register(celery, runtime)
    return celery


def _configuration(pace: QueueSettings) -> dict[str, object]:
    return {
        "task_default_queue": Queue.EVENTS.value,
        # Acknowledged before it runs: a lost ring is rung again, a doubled one finds nothing.
        "task_acks_late": False,
        "worker_prefetch_multiplier": 1,
        "worker_concurrency": pace.concurrency,
        "task_ignore_result": True,
        "result_backend": None,
        "task_serializer": "json",
        "accept_content": ["json"],
        "worker_send_task_events": False,
        "worker_enable_remote_control": False,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {"socket_timeout": 2.0, "socket_connect_timeout": 2.0},
        "timezone": "UTC",
    }


def _schedule(pace: QueueSettings) -> dict[str, dict[str, object]]:
    """A tick that nobody hears before the next one is worth nothing, so each expires."""

    def every(seconds: float, task: str, *arguments: str) -> dict[str, object]:
        return {
            "task": task,
            "args": arguments,
            "schedule": seconds,
            "options": {"expires": seconds, "queue": Queue.EVENTS.value},
        }

    return {
        "sweep": every(pace.sweep_seconds, tasks.SWEEP),
        "janitor": every(TIDY_SECONDS, tasks.TIDY),
        "reconcile": every(pace.reconcile_seconds, tasks.TICK, "reconcile"),
        "reactions": every(pace.reactions_seconds, tasks.TICK, "reactions"),
        "redeliver": every(pace.reconcile_seconds, tasks.TICK, "redeliver"),
        "calibrators": every(pace.calibrate_seconds, tasks.TICK, "calibrators"),
        "training": every(TRAINING_SECONDS, tasks.TICK, "training"),
        "adapters": every(ADAPTERS_SECONDS, tasks.TICK, "adapters"),
        "checkouts": every(CHECKOUTS_SECONDS, tasks.TICK, "checkouts"),
    }


def _stopping(patience_seconds: float) -> Event:
    """An event that children inherit; the parent sets it when it is told to shut down.

    Celery would wait for a running task as long as it takes. Its soft shutdown sleeps its time
    out even when all tasks have ended, so patience is kept here.
    """
    stopping = multiprocessing.get_context("fork").Event()

    def tell(**_signal: object) -> None:
        if not stopping.is_set():
            stopping.set()
            lost = threading.Timer(patience_seconds, os.kill, (os.getpid(), signal.SIGQUIT))
            lost.daemon = True
            lost.start()

    worker_shutting_down.connect(tell, weak=False)
    return stopping


def _log(**_signal: object) -> None:
    """In place of what Celery would set up."""
    logs.configure(load(LogSettings))


def _log_beat(**_signal: object) -> None:
    log.info("beat is ready")


def _log_end(**_signal: object) -> None:
    log.info("the worker has stopped")


@cache
def _app() -> Celery:
    _log()  # Celery warns before it sets logging up
    setup_logging.connect(_log, weak=False)
    beat_init.connect(_log_beat, weak=False)
    worker_shutdown.connect(_log_end, weak=False)
    return create(load(BrokerSettings), load(QueueSettings), wiring.runtime)


def __getattr__(name: str) -> Celery:
    """`app`, made when Celery's command asks for it, so that an import reads no environment."""
    if name == "app":
        return _app()
    raise AttributeError(name)
