"""The dashboard and the alerts name metrics and labels that the code exports, and Prometheus loads them."""

import json
import re
import shutil
import subprocess

import pytest
import yaml

from deploy.reference.metrics import list_own_metrics, list_stored_families
from tests.architecture.source import ROOT

FOLDER = ROOT / "deploy" / "monitoring"
OUTSIDE = {"up": {"job", "instance"}, "process_resident_memory_bytes": {"job", "instance"}}
"""Metrics of Prometheus itself and of its client."""
NAME = re.compile(r"\b(up|process_\w+|r4p_\w+)(?:\{([^}]*)\})?")
WITHOUT_QUOTES = re.compile(r'"[^"]*"')


def list_series():
    """The labels of each series, by its name as Prometheus stores it."""
    series = {name: set(labels) for name, labels in OUTSIDE.items()}
    for metric, labels in list_own_metrics():
        series |= {sample.name: {*labels, "le"} for sample in metric.samples}
    for family in list_stored_families():
        name = f"{family.name}_total" if family.is_counter else family.name
        series[name] = set(family.labels)
    return series


def list_alerts():
    groups = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def list_panels():
    return json.loads((FOLDER / "dashboard.json").read_text())["panels"]


def list_expressions():
    targets = [target for panel in list_panels() for target in panel.get("targets", [])]
    named = [(f"panel {target['expr']}", target["expr"]) for target in targets]
    return [*named, *((rule["alert"], rule["expr"]) for rule in list_alerts())]


@pytest.mark.parametrize("expression", [expr for _, expr in list_expressions()])
def test_an_expression_names_what_the_code_exports(expression):
    series = list_series()
    found = NAME.findall(WITHOUT_QUOTES.sub('"q"', expression))
    assert found, "an expression without a metric"
    for name, matchers in found:
        labels = {part.split("=")[0].strip(" !") for part in matchers.split(",") if part.strip()}
        assert name in series
        assert labels <= series[name], f"{name} has no such label"


def test_every_metric_of_the_database_is_on_the_dashboard_or_in_an_alert():
    text = " ".join(expr for _, expr in list_expressions())
    left = {family.name for family in list_stored_families() if family.name not in text}
    assert left == {"r4p_test_groups"}


def test_panels_and_alerts_have_what_grafana_and_an_operator_need():
    panels = list_panels()
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
    for rule in list_alerts():
        assert {"summary", "action"} == set(rule["annotations"])
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}


def test_prometheus_loads_the_configuration_and_the_alerts_fire():
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not here: apt install prometheus")
    cases = ROOT / "tests" / "architecture" / "alert_cases.yml"
    for command in (
        ["check", "config", str(FOLDER / "prometheus.yml")],
        ["test", "rules", str(cases)],
    ):
        done = subprocess.run([promtool, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
