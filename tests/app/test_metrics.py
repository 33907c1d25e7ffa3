"""Prometheus' text, and counters that hostile labels can't blow up."""

import threading

from app.metrics import Metrics, Sample, render


def test_counters_are_grouped_sorted_and_typed():
    metrics = Metrics()
    metrics.add("r4p_deliveries_total", event="push", outcome="new")
    metrics.add("r4p_deliveries_total", event="issues", outcome="new")
    metrics.add("r4p_deliveries_total", event="push", outcome="new")
    metrics.add("r4p_doorbell_failures_total")
    gauge = Sample("r4p_jobs_lag_seconds", 1.5, (("queue", "github"),))
    assert render([*metrics.samples(), gauge]).splitlines() == [
        (
            "# HELP r4p_deliveries_total Webhook deliveries answered by this process,"
            " by event and outcome."
        ),
        "# TYPE r4p_deliveries_total counter",
        'r4p_deliveries_total{event="issues",outcome="new"} 1',
        'r4p_deliveries_total{event="push",outcome="new"} 2',
        (
            "# HELP r4p_doorbell_failures_total Rings that the broker did not take;"
            " the sweeper rings again."
        ),
        "# TYPE r4p_doorbell_failures_total counter",
        "r4p_doorbell_failures_total 1",
        "# HELP r4p_jobs_lag_seconds How long the oldest due job of a queue has waited.",
        "# TYPE r4p_jobs_lag_seconds gauge",
        'r4p_jobs_lag_seconds{queue="github"} 1.5',
    ]


def test_large_numbers_keep_their_digits():
    assert render([Sample("r4p_jobs", 12_345_678)]).endswith("r4p_jobs 12345678\n")


def test_label_values_can_not_break_out_of_their_quotes():
    sample = Sample("r4p_jobs", 1, (("queue", 'a"\n\\'),))
    assert render([sample]).splitlines()[-1] == 'r4p_jobs{queue="a\\"\\n\\\\"} 1'


def test_label_values_without_end_are_counted_together():
    metrics = Metrics()
    for number in range(3_000):
        metrics.add("r4p_deliveries_total", event=f"made_up_{number}")
    counted = {dict(sample.labels)["event"]: sample.value for sample in metrics.samples()}
    assert len(counted) == 2_001
    assert counted["other"] == 1_000


def test_threads_lose_no_count():
    metrics = Metrics()

    def work():
        for _ in range(1_000):
            metrics.add("r4p_doorbell_failures_total")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metrics.samples() == (Sample("r4p_doorbell_failures_total", 4_000),)
