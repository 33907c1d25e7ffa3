"""Prometheus' text, and counters that hostile labels can't blow up."""

import threading

import pytest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from app.metrics import Metrics


def scrape(metrics):
    """Every series that a Prometheus server reads, by name and labels."""
    families = text_string_to_metric_families(metrics.format_text().decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def test_counters_have_the_names_labels_and_types_that_dashboards_know():
    metrics = Metrics()
    metrics.count_delivery("push", "new")
    metrics.count_delivery("issues", "new")
    metrics.count_delivery("push", "new")
    metrics.count_doorbell_failure()
    lines = metrics.format_text().decode().splitlines()
    assert {
        (
            "# HELP r4p_deliveries_total Webhook deliveries answered by this process,"
            " by event and outcome."
        ),
        "# TYPE r4p_deliveries_total counter",
        'r4p_deliveries_total{event="issues",outcome="new"} 1.0',
        'r4p_deliveries_total{event="push",outcome="new"} 2.0',
        (
            "# HELP r4p_doorbell_failures_total Rings that the broker did not take."
            " The sweeper rings again."
        ),
        "# TYPE r4p_doorbell_failures_total counter",
        "r4p_doorbell_failures_total 1.0",
    } <= {*lines}


def test_every_known_series_begins_at_zero():
    begun = scrape(Metrics())
    refused = [("", f"refused_{status}") for status in (400, 401, 408, 413, 503)]
    for event, outcome in (("issues", "new"), ("push", "unavailable"), *refused):
        labels = frozenset({"event": event, "outcome": outcome}.items())
        assert begun["r4p_deliveries_total", labels] == 0
    for reason in ("header", "disconnect", "signature", "timeout", "size", "memory"):
        labels = frozenset({"reason": reason}.items())
        assert begun["r4p_refused_deliveries_total", labels] == 0
    assert begun["r4p_doorbell_failures_total", frozenset()] == 0


def test_a_scrape_asks_further_collectors():
    class Stored(Collector):
        def collect(self):
            gauge = GaugeMetricFamily("r4p_jobs", "Jobs.", labels=["queue"])
            gauge.add_metric(['a"\n\\'], 12_345_678)
            return [gauge]

    metrics = Metrics()
    metrics.register(Stored())
    assert scrape(metrics)["r4p_jobs", frozenset({("queue", 'a"\n\\')})] == 12_345_678


def test_the_process_tells_its_memory():
    assert scrape(Metrics())["process_resident_memory_bytes", frozenset()] > 1e6


@pytest.mark.parametrize("outcome", ["ignored", "new"])
def test_label_values_without_end_are_counted_together(outcome):
    metrics = Metrics()
    before = len(scrape(metrics))
    for number in range(3_000):
        metrics.count_delivery(f"made_up_{number}", outcome)
    assert len(scrape(metrics)) - before < 2_000
    assert metrics.get_value("r4p_deliveries_total", event="other", outcome="other") > 1_000
    assert metrics.get_value("r4p_deliveries_total", event="made_up_0", outcome=outcome) == 1


def test_threads_lose_no_count():
    metrics = Metrics()

    def work():
        for _ in range(1_000):
            metrics.count_doorbell_failure()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metrics.get_value("r4p_doorbell_failures_total") == 4_000
