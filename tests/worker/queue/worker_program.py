"""A worker program for tests: the real Celery set-up, with handlers that misbehave on request.

What an evaluation's `trigger` says is what its handler does; every step leaves a mark.
"""

import os
import signal
import time
from collections.abc import Callable
from functools import cache

from celery import Celery
from sqlalchemy import text

from app.db.session import create_database_engine
from app.dispatch import Doorbell
from app.jobs.job import EvaluateIssue
from app.settings import BrokerSettings, DatabaseSettings, QueueSettings, load
from worker import celery_app
from worker.queue.context import Context
from worker.queue.runner import Runner
from worker.queue.tasks import Runtime
from worker.queue.upkeep import Upkeep

MARKS = "create table marks (job bigint, attempt int, what text)"


def mark(context: Context, what: str) -> None:
    """Commit, behind the fence, that this attempt came this far."""
    with context.transaction() as connection:
        connection.execute(
            text("insert into marks values (:job, :attempt, :what)"),
            {"job": context.claimed.id, "attempt": context.claimed.attempt, "what": what},
        )


def evaluate(context: Context, job: EvaluateIssue) -> None:
    mark(context, "started")
    BEHAVIOURS[job.trigger](context)
    mark(context, "finished")


def poison(_context: Context) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail(_context: Context) -> None:
    raise ValueError("a mistake")


def hold(context: Context) -> None:
    """Only the first attempt is held up."""
    while context.claimed.attempt == 1:
        context.check()
        time.sleep(0.02)


def hold_for_ever(_context: Context) -> None:
    """Deaf to everything but being killed."""
    while True:
        time.sleep(1)


def hold_deaf(context: Context) -> None:
    """As `hold`, without asking whether to go on, until it is the only one that still runs."""
    if context.claimed.attempt == 1:
        _wait_for_another(context)


def _wait_for_another(context: Context) -> None:
    found = text("select 1 from marks where job = :job and attempt = 2 and what = 'finished'")
    while True:
        with context.database.connect() as connection:
            if connection.execute(found, {"job": context.claimed.id}).first():
                return
        time.sleep(0.02)


BEHAVIOURS: dict[str, Callable[[Context], None]] = {
    "quick": lambda _context: None,
    "poison": poison,
    "fail": fail,
    "hold": hold,
    "hold_deaf": hold_deaf,
    "hold_for_ever": hold_for_ever,
}


def make(pace: QueueSettings, broker: BrokerSettings, stopping: Callable[[], bool]) -> Runtime:
    database = create_database_engine(load(DatabaseSettings).database_url, pool_size=2)
    doorbell = Doorbell(broker.redis_url)
    handlers = {"evaluate_issue": evaluate}
    return Runtime(
        Runner(database, handlers, doorbell, pace, stopping),
        Upkeep(database, doorbell, pace, {"reconcile": lambda _: (), "reactions": lambda _: ()}),
    )


@cache
def _app() -> Celery:
    return celery_app.create_celery(
        load(BrokerSettings), load(QueueSettings), make, patience_seconds=2
    )


def __getattr__(name: str) -> Celery:
    if name == "app":
        return _app()
    raise AttributeError(name)
