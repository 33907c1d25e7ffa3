"""Define Celery's tasks: one line each, with ids and names as arguments, never data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from celery import Celery

from app.dispatch import RUN_TASK
from app.jobs.job import Queue
from worker.queue.runner import Runner
from worker.queue.upkeep import Upkeep

SWEEP: Final = "r4p.sweep"
TIDY: Final = "r4p.janitor"
RETAIN: Final = "r4p.retain"
TICK: Final = "r4p.tick"


@dataclass(frozen=True, slots=True)
class Runtime:
    """The objects that a worker process works with. They are built after the fork, so that no connection is shared."""

    runner: Runner
    upkeep: Upkeep


def register(celery: Celery, runtime: Callable[[], Runtime]) -> None:
    """Add the worker's tasks to a Celery application: run a job; sweep, tidy, retain and tick of Upkeep.

    Each task calls `runtime` when it runs, to get the objects that it works with.
    """

    def run(queue: str) -> None:
        runtime().runner.answer(Queue(queue))

    def sweep() -> None:
        runtime().upkeep.sweep()

    def tidy() -> None:
        runtime().upkeep.tidy()

    def retain() -> None:
        runtime().upkeep.retain()

    def tick(name: str) -> None:
        runtime().upkeep.tick(name)

    own = ((SWEEP, sweep), (TIDY, tidy), (RETAIN, retain), (TICK, tick))
    for name, function in ((RUN_TASK, run), *own):
        celery.task(function, name=name)
