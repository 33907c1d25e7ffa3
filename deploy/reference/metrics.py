"""The metrics that Prometheus reads, for the reference."""

from collections.abc import Iterator

from prometheus_client.core import Metric

from app.metrics import Family, Metrics
from app.web import stored_metrics, verdict_metrics
from deploy.reference.markdown import build_table


def describe_metrics() -> str:
    """Every metric with its type, labels and meaning."""
    own = ((metric, labels, "") for metric, labels in list_own_metrics())
    stored = ((family.build(), family.labels, " *") for family in list_stored_families())
    rows = (
        (
            f"`{metric.name}{'_total' * (metric.type == 'counter')}`{mark}",
            metric.type,
            ", ".join(f"`{label}`" for label in labels),
            metric.documentation,
        )
        for metric, labels, mark in (*own, *stored)
    )
    return build_table(("metric", "type", "labels", "meaning"), rows)


def list_own_metrics() -> Iterator[tuple[Metric, tuple[str, ...]]]:
    """Every metric that the web process counts itself, with the names of its labels."""
    for metric in Metrics().list_metrics():
        if metric.name.startswith("r4p_"):
            labels = dict.fromkeys(name for sample in metric.samples for name in sample.labels)
            yield metric, tuple(name for name in labels if name != "le")


def list_stored_families() -> tuple[Family, ...]:
    """Every metric that the web process reads from the database."""
    return (*stored_metrics.FAMILIES, *verdict_metrics.FAMILIES)
