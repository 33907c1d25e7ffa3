"""The rule for prometheus-adapter serves the metric that the chart's autoscalers ask for."""

import re
import shutil
import subprocess

import pytest
import yaml

from app.jobs.job import Queue
from app.web.stored_metrics import JOBS
from tests.deploy.test_chart import ALL, ROOT, render

VALUES = ROOT / "deploy" / "monitoring" / "prometheus-adapter.yaml"
(RULE,) = yaml.safe_load(VALUES.read_text())["rules"]["external"]
NAMESPACE = "namespace"
"""The label that Prometheus' discovery of services adds."""


def list_asked_metrics():
    """What each autoscaler of the chart asks for: the name of a metric, and its labels."""
    return [
        (
            metric["external"]["metric"]["name"],
            metric["external"]["metric"]["selector"]["matchLabels"],
        )
        for (kind, _), one in render(ALL).items()
        if kind == "HorizontalPodAutoscaler"
        for metric in one["spec"]["metrics"]
    ]


def build_query(labels):
    """The query that prometheus-adapter makes for an autoscaler in the namespace `bots`."""
    matchers = ",".join(
        f'{name}="{value}"' for name, value in {NAMESPACE: "bots", **labels}.items()
    )
    return (
        RULE["metricsQuery"]
        .replace("<<.Series>>", JOBS.name)
        .replace("<<.LabelMatchers>>", matchers)
    )


def test_the_rule_finds_the_series_of_the_bot():
    name, matchers = re.fullmatch(r"(\w+)\{(.*)\}", RULE["seriesQuery"]).groups()
    assert (name, matchers) == (JOBS.name, f'{NAMESPACE}!=""')
    assert RULE["resources"] == {"overrides": {NAMESPACE: {"resource": NAMESPACE}}}


def test_the_rule_serves_the_name_and_the_labels_that_the_chart_asks_for():
    asked = list_asked_metrics()
    grouped = re.search(r"by \(([\w, ]+)\)", RULE["metricsQuery"]).group(1).split(", ")
    assert len(asked) == 2
    for name, labels in asked:
        assert name == RULE["name"]["as"] == JOBS.name
        assert set(labels) == set(grouped) == set(JOBS.labels)
        assert labels["queue"] in set(Queue)


def test_two_web_processes_that_tell_the_same_count_once(tmp_path):
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not here: apt install prometheus")
    labels = {"queue": "verify", "state": "ready"}
    series = [
        {
            "series": f'r4p_jobs{{queue="verify",state="ready",namespace="{where}",pod="{pod}"}}',
            "values": jobs,
        }
        for where, pod, jobs in (("bots", "a", "5"), ("bots", "b", "5"), ("elsewhere", "c", "70"))
    ]
    expected = {
        "expr": build_query(labels),
        "eval_time": "0m",
        "exp_samples": [{"labels": '{queue="verify",state="ready"}', "value": 5}],
    }
    cases = {"tests": [{"interval": "1m", "input_series": series, "promql_expr_test": [expected]}]}
    (tmp_path / "cases.yml").write_text(yaml.safe_dump(cases))
    done = subprocess.run(
        [promtool, "test", "rules", tmp_path / "cases.yml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
