"""Counters of the web process, kept by prometheus-client in a registry of their own."""

import threading
from itertools import product
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.registry import Collector

from app.events.parser import HANDLED_EVENTS

_SERIES_LIMIT: Final = 2_000
"""Label values come from outside; the series beyond this many are counted together as `other`."""
_REFUSALS: Final = ("refused_400", "refused_401", "refused_413")
_OUTCOMES: Final = ("new", "rearmed", "duplicate", "ignored", "unavailable")

disable_created_metrics()  # type: ignore[no-untyped-call]  # a series of its own beside each counter, which no dashboard asks for


class Metrics:
    """Counts what happens. Safe to share by threads.

    Every series with known labels begins at zero, so that a rate sees the first count too.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._deliveries = Counter(
            "r4p_deliveries_total",
            "Webhook deliveries answered by this process, by event and outcome.",
            ["event", "outcome"],
            registry=self._registry,
        )
        self._doorbell_failures = Counter(
            "r4p_doorbell_failures_total",
            "Rings that the broker did not take; the sweeper rings again.",
            registry=self._registry,
        )
        self._series = {*product([""], _REFUSALS), *product(HANDLED_EVENTS, _OUTCOMES)}
        self._lock = threading.Lock()
        for event, outcome in self._series:
            self._deliveries.labels(event, outcome)

    def count_delivery(self, event: str, outcome: str) -> None:
        """Count a delivery that was answered."""
        self._deliveries.labels(*self._bound(event, outcome)).inc()

    def count_doorbell_failure(self) -> None:
        """Count a ring that the broker did not take."""
        self._doorbell_failures.inc()

    def register(self, collector: Collector) -> None:
        """Have this collector asked at each scrape too."""
        self._registry.register(collector)

    def value(self, name: str, **labels: str) -> float | None:
        """The present value of a series; None where there is no such series."""
        return self._registry.get_sample_value(name, labels)

    def exposition(self) -> bytes:
        """Every series in Prometheus' text format, 0.0.4."""
        return generate_latest(self._registry)

    def _bound(self, event: str, outcome: str) -> tuple[str, str]:
        with self._lock:
            if (event, outcome) not in self._series and len(self._series) >= _SERIES_LIMIT:
                return "other", "other"
            self._series.add((event, outcome))
        return event, outcome
