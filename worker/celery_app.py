"""Create the Celery application: queues, limits and periodic tasks.

`worker/celery_command.py` starts it.
"""

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
from app.settings import BrokerSettings, IdentitySettings, LogSettings, QueueSettings, load
from worker import wiring
from worker.queue import tasks
from worker.queue.tasks import Runtime

log = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 20.0
"""Time for running jobs to stop after SIGTERM; supervisors kill after 30 seconds."""
TIDY_SECONDS: Final = 600.0
RETENTION_SECONDS: Final = 3_600.0
CHECKOUTS_SECONDS: Final = 3_600.0
ADAPTERS_SECONDS: Final = 3_600.0
TRAINING_SECONDS: Final = 600.0
"""How often the worker checks whether a training is due. Beat keeps no state on disk, so a daily
schedule might never fire."""

MakeRuntime = Callable[[QueueSettings, BrokerSettings, Callable[[], bool]], Runtime]
"""Builds a process's `Runtime` from settings and a function that tells whether the process stops.
"""


def create_celery(
    broker: BrokerSettings,
    pace: QueueSettings,
    make: MakeRuntime,
    *,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Celery:
    """Create the worker's Celery application, with its queues, limits and periodic tasks.

    `pace` holds the intervals and limits. Each child process calls `make` once to build its runtime. After SIGTERM
    running jobs have `patience_seconds` to stop; then the worker sends itself SIGQUIT.
    """
    celery = Celery("r4p-worker", broker=broker.redis_url)
    celery.conf.update(_build_configuration(pace))
    celery.conf.beat_schedule = _build_schedule(pace)
    stopping = _create_stop_event(patience_seconds)

    @cache  # once per child: the parent runs no task, so a fork copies no connection
    def runtime() -> Runtime:
        return make(pace, broker, stopping.is_set)

    tasks.register(celery, runtime)
    return celery


def _build_configuration(pace: QueueSettings) -> dict[str, object]:
    return {
        "task_default_queue": Queue.EVENTS.value,
        # Acknowledge early: the sweep repeats a lost ring, and a doubled one finds no job.
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


def _build_schedule(pace: QueueSettings) -> dict[str, dict[str, object]]:
    """Build the periodic tasks.

    Each expires before the next one, because a late tick is useless.
    """

    def every(seconds: float, task: str, *arguments: str) -> dict[str, object]:
        return {
            "task": task,
            "args": arguments,
            "schedule": seconds,
            "options": {"expires": seconds, "queue": Queue.EVENTS.value},
        }

    polls = load(IdentitySettings).ingress == "polling"
    redeliver_seconds = pace.poll_seconds if polls else pace.reconcile_seconds
    return {
        "sweep": every(pace.sweep_seconds, tasks.SWEEP),
        "janitor": every(TIDY_SECONDS, tasks.TIDY),
        "retention": every(RETENTION_SECONDS, tasks.RETAIN),
        "reconcile": every(pace.reconcile_seconds, tasks.TICK, "reconcile"),
        "reactions": every(pace.reactions_seconds, tasks.TICK, "reactions"),
        "redeliver": every(redeliver_seconds, tasks.TICK, "redeliver"),
        "calibrators": every(pace.calibrate_seconds, tasks.TICK, "calibrators"),
        "training": every(TRAINING_SECONDS, tasks.TICK, "training"),
        "adapters": every(ADAPTERS_SECONDS, tasks.TICK, "adapters"),
        "checkouts": every(CHECKOUTS_SECONDS, tasks.TICK, "checkouts"),
    }


def _create_stop_event(patience_seconds: float) -> Event:
    """Create an event that children inherit and the parent sets at shutdown.

    Celery waits for running tasks without a limit. Its soft shutdown sleeps the whole time even
    when all tasks have ended. So this module keeps its own time limit.
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


def _configure_logging(**_signal: object) -> None:
    """Set up logging in place of Celery."""
    logs.configure(load(LogSettings))


def _log_beat(**_signal: object) -> None:
    log.info("beat is ready")


def _log_end(**_signal: object) -> None:
    log.info("the worker has stopped")


@cache
def _get_app() -> Celery:
    _configure_logging()  # Celery logs warnings before it sets logging up
    setup_logging.connect(_configure_logging, weak=False)
    beat_init.connect(_log_beat, weak=False)
    worker_shutdown.connect(_log_end, weak=False)
    return create_celery(load(BrokerSettings), load(QueueSettings), wiring.create_runtime)


def __getattr__(name: str) -> Celery:
    """Create `app` when Celery asks for it, so that importing this module reads no environment."""
    if name == "app":
        return _get_app()
    raise AttributeError(name)
