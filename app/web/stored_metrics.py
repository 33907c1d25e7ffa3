"""Metrics that Prometheus reads from the database at each scrape: the job queue and the newest training."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from app.db.store.evidence import group_tests
from app.db.store.models import trainings
from app.db.store.queue import installation_controls, upkeep
from app.jobs.job import Queue
from app.jobs.waits import WaitsFor
from app.learning.training_plan import Training, TrainingState

_JOB_STATES = ("ready", "running", "dead")


class StoredMetrics(Collector):
    """Collects metrics from the database: the job queue and the newest training.

    While the database is down there are no values, because unknown is not zero.
    """

    def __init__(self, database: Engine) -> None:
        self._database = database

    def collect(self) -> list[Metric]:
        """Return all metrics that the database holds; empty while the database is down."""
        try:
            with self._database.connect() as connection:
                return [
                    *_read_jobs(connection),
                    *_read_waiting(connection),
                    _read_ignored(connection),
                    _read_paused(connection),
                    _read_tests(connection),
                    *build_training_metrics(trainings.find_last(connection), datetime.now(UTC)),
                ]
        except SQLAlchemyError:
            return []


def _read_jobs(connection: Connection) -> Iterator[Metric]:
    jobs = GaugeMetricFamily(
        "r4p_jobs",
        "Jobs that wait, run or gave up, by queue and state.",
        labels=["queue", "state"],
    )
    lag = GaugeMetricFamily(
        "r4p_jobs_lag_seconds",
        "Seconds that the oldest due job of a queue has waited.",
        labels=["queue"],
    )
    counts = {(count.queue, count.state): count for count in upkeep.count_jobs(connection)}
    none = dict.fromkeys(product([queue.value for queue in Queue], _JOB_STATES))
    for (queue, state), count in (none | counts).items():
        jobs.add_metric([queue, state], count.jobs if count else 0)
        if state == "ready":
            lag.add_metric([queue], count.lag_seconds if count else 0)
    yield from (jobs, lag)


def _read_waiting(connection: Connection) -> Iterator[Metric]:
    jobs = GaugeMetricFamily(
        "r4p_jobs_waiting",
        "Jobs that wait for GitHub, git, a limit, the key or the engine.",
        labels=["for"],
    )
    seconds = GaugeMetricFamily(
        "r4p_jobs_waiting_seconds",
        "Seconds that the first of these jobs has waited.",
        labels=["for"],
    )
    waiting = {entry.who: entry for entry in upkeep.count_waiting(connection)}
    for who, entry in (dict.fromkeys(who.value for who in WaitsFor) | waiting).items():
        jobs.add_metric([who], entry.jobs if entry else 0)
        seconds.add_metric([who], entry.seconds if entry else 0)
    yield from (jobs, seconds)


def _read_ignored(connection: Connection) -> Metric:
    ignored = CounterMetricFamily(
        "r4p_ignored_deliveries",
        "Deliveries that the bot ignored, by reason.",
        labels=["reason"],
    )
    for reason, count in upkeep.count_ignored(connection).items():
        ignored.add_metric([reason], count)
    return ignored


def _read_paused(connection: Connection) -> Metric:
    paused = GaugeMetricFamily(
        "r4p_paused",
        "1 for each paused installation by its id; 0 stands for all installations.",
        labels=["installation"],
    )
    for installation in installation_controls.list_paused(connection):
        paused.add_metric([str(installation)], 1)
    return paused


def _read_tests(connection: Connection) -> Metric:
    tests = GaugeMetricFamily(
        "r4p_test_groups",
        "Stored groups with tests, by whether their tests wait, told something or told nothing.",
        labels=["state"],
    )
    for state, count in group_tests.count_outcomes(connection).items():
        tests.add_metric([state], count)
    return tests


def build_training_metrics(training: Training | None, now: datetime) -> list[Metric]:
    """Build the metrics of the newest training. Without a training (None) the metrics have no samples."""
    state = GaugeMetricFamily(
        "r4p_training",
        "1 for the present state and stage of the newest training.",
        labels=["stage", "state"],
    )
    beat = GaugeMetricFamily(
        "r4p_training_beat_seconds",
        "Seconds since a worker last worked on a running training.",
        labels=[],
    )
    progress = GaugeMetricFamily(
        "r4p_training_metric", "Metrics of the newest optimiser step, by name.", labels=["name"]
    )
    if training:
        state.add_metric([training.stage.value, training.state.value], 1)
        if training.state is TrainingState.RUNNING and training.beat_at:
            beat.add_metric([], (now - training.beat_at).total_seconds())
        for name, value in training.progress.items():
            if isinstance(value, int | float):
                progress.add_metric([name], value)
    return [state, beat, progress]
