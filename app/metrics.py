"""Counters of the web process, in a prometheus-client registry of their own."""

import platform
import threading
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from itertools import product
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.events.parser import HANDLED_EVENTS

_SERIES_LIMIT: Final = 2_000
"""Most label combinations. Label values come from outside, so later ones count together as `other`."""
_REFUSALS: Final = tuple(f"refused_{status}" for status in (400, 401, 408, 413, 503))
_OUTCOMES: Final = ("new", "rearmed", "duplicate", "ignored", "unavailable")


class Refusal(StrEnum):
    """Why the webhook refuses a request: the values of the label `reason`."""

    HEADER = "header"
    """A header of GitHub is missing or malformed."""
    DISCONNECT = "disconnect"
    """The connection ended before the body did."""
    SIGNATURE = "signature"
    """The signature is missing, malformed or wrong."""
    TIMEOUT = "timeout"
    """The body did not arrive in time."""
    SIZE = "size"
    """The body is larger than the limit."""
    MEMORY = "memory"
    """All bodies together hold too many bytes."""


@dataclass(frozen=True, slots=True)
class Family:
    """A metric whose values come from elsewhere at each scrape: its name, help text and labels."""

    name: str
    help: str
    labels: tuple[str, ...] = ()
    is_counter: bool = False

    def build(self, samples: Iterable[tuple[tuple[str, ...], float]] = ()) -> Metric:
        """Build the metric from its samples, each the values of the labels and a number."""
        kind = CounterMetricFamily if self.is_counter else GaugeMetricFamily
        metric = kind(self.name, self.help, labels=self.labels)
        for labels, value in samples:
            metric.add_metric(labels, value)
        return metric


disable_created_metrics()  # type: ignore[no-untyped-call]  # it would add a series to each counter that no dashboard uses


class Metrics:
    """Counts webhook deliveries and failed doorbell rings for Prometheus. Threads may share it.

    Every series with known labels begins at zero, so that a rate sees the first count too.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        Gauge(
            "r4p_build_info",
            "1 for the version of the bot and of its Python.",
            ["version", "python"],
            registry=self._registry,
        ).labels(version("r4p-bot"), platform.python_version()).set(1)
        self._deliveries = Counter(
            "r4p_deliveries_total",
            "Webhook deliveries answered by this process, by event and outcome.",
            ["event", "outcome"],
            registry=self._registry,
        )
        self._refusals = Counter(
            "r4p_refused_deliveries_total",
            "Requests that the webhook refused, by reason. Not all come from GitHub.",
            ["reason"],
            registry=self._registry,
        )
        for reason in Refusal:
            self._refusals.labels(reason.value)
        self._doorbell_failures = Counter(
            "r4p_doorbell_failures_total",
            "Rings that the broker did not take. The sweeper rings again.",
            registry=self._registry,
        )
        self._webhook_seconds = Histogram(
            "r4p_webhook_seconds",
            "Seconds from the arrival of a request to the webhook until its answer was ready.",
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 4, 10),
            registry=self._registry,
        )
        self._series = {*product([""], _REFUSALS), *product(HANDLED_EVENTS, _OUTCOMES)}
        self._lock = threading.Lock()
        for event, outcome in self._series:
            self._deliveries.labels(event, outcome)

    def count_delivery(self, event: str, outcome: str) -> None:
        """Count one answered delivery of a webhook event such as `push`, with an outcome such as `new`."""
        self._deliveries.labels(*self._limit_labels(event, outcome)).inc()

    def count_refusal(self, reason: Refusal, status: int) -> None:
        """Count one refused request to the webhook, which the web process answered with the HTTP status `status`."""
        self._refusals.labels(reason.value).inc()
        self.count_delivery("", f"refused_{status}")

    def count_doorbell_failure(self) -> None:
        """Count one doorbell message to workers that the Celery broker did not take."""
        self._doorbell_failures.inc()

    def time_webhook(self) -> AbstractContextManager[object]:
        """Return a context that measures how long the answer to one request to the webhook takes."""
        return self._webhook_seconds.time()

    def register(self, collector: Collector) -> None:
        """Add a collector whose metrics Prometheus gets at each scrape."""
        self._registry.register(collector)

    def get_value(self, name: str, **labels: str) -> float | None:
        """Return the present value of the series with this name and these labels; None: there is no such series."""
        return self._registry.get_sample_value(name, labels)

    def format_text(self) -> bytes:
        """Return every series in Prometheus' text format 0.0.4."""
        return generate_latest(self._registry)

    def list_metrics(self) -> list[Metric]:
        """Return every metric with its present samples."""
        return list(self._registry.collect())

    def _limit_labels(self, event: str, outcome: str) -> tuple[str, str]:
        with self._lock:
            if (event, outcome) not in self._series and len(self._series) >= _SERIES_LIMIT:
                return "other", "other"
            self._series.add((event, outcome))
        return event, outcome
