"""Metrics that Prometheus reads from the database at each scrape: the job queue and the newest training."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from app.db.store.evidence import group_tests
from app.db.store.models import trainings
from app.db.store.queue import installation_controls, upkeep
from app.jobs.job import Queue
from app.jobs.waits import WaitsFor
from app.learning.training_plan import Training, TrainingState
from app.metrics import Family

_JOB_STATES = ("ready", "running", "dead")

JOBS: Final = Family(
    "r4p_jobs", "Jobs that wait, run or gave up, by queue and state.", ("queue", "state")
)
LAG: Final = Family(
    "r4p_jobs_lag_seconds", "Seconds that the oldest due job of a queue has waited.", ("queue",)
)
RUNNING: Final = Family(
    "r4p_jobs_running_seconds",
    "Seconds since a worker claimed the job of a queue that runs longest.",
    ("queue",),
)
WAITING: Final = Family(
    "r4p_jobs_waiting", "Jobs that wait for GitHub, git, a limit, the key or the engine.", ("for",)
)
WAITING_SECONDS: Final = Family(
    "r4p_jobs_waiting_seconds", "Seconds that the first of these jobs has waited.", ("for",)
)
IGNORED: Final = Family(
    "r4p_ignored_deliveries",
    "Deliveries that the bot ignored, by reason.",
    ("reason",),
    is_counter=True,
)
PAUSED: Final = Family(
    "r4p_paused",
    "1 for each paused installation by its id; 0 stands for all installations.",
    ("installation",),
)
TESTS: Final = Family(
    "r4p_test_groups",
    "Stored groups with tests, by whether their tests wait, told something or told nothing.",
    ("state",),
)
CONNECTIONS: Final = Family(
    "r4p_database_connections",
    "Open connections of the bot's processes to the database, by the kind of process and its version.",
    ("process", "version"),
)
TRAINING: Final = Family(
    "r4p_training",
    "1 for the present state and stage of the newest training.",
    ("stage", "state"),
)
BEAT: Final = Family(
    "r4p_training_beat_seconds", "Seconds since a worker last worked on a running training."
)
PROGRESS: Final = Family(
    "r4p_training_metric", "Metrics of the newest optimiser step, by name.", ("name",)
)
FAMILIES: Final = (
    *(JOBS, LAG, RUNNING, WAITING, WAITING_SECONDS),
    *(IGNORED, PAUSED, TESTS, CONNECTIONS, TRAINING, BEAT, PROGRESS),
)


class StoredMetrics(Collector):
    """Collects metrics from the database: the job queue and the newest training.

    While the database is down there are no values, because unknown is not zero.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database

    def describe(self) -> list[Metric]:
        """Return the metrics without samples, so that registering reads no database."""
        return [family.build() for family in FAMILIES]

    def collect(self) -> list[Metric]:
        """Return all metrics that the database holds; empty while the database is down."""
        try:
            with self._database.connect() as connection:
                return [
                    *_read_jobs(connection),
                    *_read_waiting(connection),
                    IGNORED.build(_label(upkeep.count_ignored(connection))),
                    PAUSED.build(
                        ((str(each),), 1) for each in installation_controls.list_paused(connection)
                    ),
                    TESTS.build(_label(group_tests.count_outcomes(connection))),
                    CONNECTIONS.build(upkeep.count_connections(connection).items()),
                    *build_training_metrics(trainings.find_last(connection), datetime.now(UTC)),
                ]
        except SQLAlchemyError:
            return []


def _label(counts: dict[str, int]) -> Iterator[tuple[tuple[str, ...], float]]:
    return (((name,), count) for name, count in counts.items())


def _read_jobs(connection: Connection) -> Iterator[Metric]:
    counts = {(count.queue, count.state): count for count in upkeep.count_jobs(connection)}
    series = dict.fromkeys(product([queue.value for queue in Queue], _JOB_STATES)) | counts
    yield JOBS.build((labels, count.jobs if count else 0) for labels, count in series.items())
    for family, wanted in ((LAG, "ready"), (RUNNING, "running")):
        yield family.build(
            ((queue,), count.seconds if count else 0)
            for (queue, state), count in series.items()
            if state == wanted
        )


def _read_waiting(connection: Connection) -> Iterator[Metric]:
    waiting = {entry.who: entry for entry in upkeep.count_waiting(connection)}
    series = dict.fromkeys(who.value for who in WaitsFor) | waiting
    yield WAITING.build(((who,), entry.jobs if entry else 0) for who, entry in series.items())
    yield WAITING_SECONDS.build(
        ((who,), entry.seconds if entry else 0) for who, entry in series.items()
    )


def build_training_metrics(training: Training | None, now: datetime) -> list[Metric]:
    """Build the metrics of the newest training. Without a training (None) the metrics have no samples."""
    if training is None:
        return [family.build() for family in (TRAINING, BEAT, PROGRESS)]
    is_running = training.state is TrainingState.RUNNING
    beats = [training.beat_at] if is_running and training.beat_at else []
    numbers = {
        name: value for name, value in training.progress.items() if isinstance(value, int | float)
    }
    return [
        TRAINING.build([((training.stage.value, training.state.value), 1)]),
        BEAT.build(((), (now - beat).total_seconds()) for beat in beats),
        PROGRESS.build(((name,), value) for name, value in numbers.items()),
    ]
