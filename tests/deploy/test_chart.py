"""The Helm chart, linted and rendered by Helm itself and held against Kubernetes' own schemas."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from app.db.process_grants import ProcessRole
from app.settings import find_mistakes, list_known_names
from deploy.reference.settings import list_kinds
from tests.deploy.test_compose import COMPOSE, LEAST_STOP_SECONDS

REASON = "the chart is not checked: pip install -c constraints.txt -e '.[chart]' (`make test` does)"
helm = pytest.importorskip("helm_python", reason=REASON)
kubernetes = pytest.importorskip("kubernetes_validate", reason=REASON)

CHART = Path(__file__).parents[2] / "deploy" / "helm"
ROOT = CHART.parents[1]
KUBERNETES = "1.37"
LEAST = {"settings": {"R4P_APP_ID": "12345"}}
ALL = {
    "settings": {"R4P_APP_ID": 12345, "R4P_STOP_EARLY": True, "R4P_GATE_MARGIN": 0.05},
    "image": {"pullSecrets": [{"name": "registry"}]},
    "processes": {name: {"replicas": 1} for name in ("agents", "tests", "writer", "train")},
    "autoscaling": {"enabled": True},
    "vllm": {"enabled": True, "replicas": 3},
    "trainJob": {"name": "first", "arguments": ["r4p-paper", "--dataset", "/trainings/d"]},
    "ingress": {"enabled": True, "className": "nginx", "annotations": {"a": "b"}},
    "networkPolicy": {"engineEgress": [{"to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}]}]},
    "gpuNodeSelector": {"gpu": "h100"},
    "gpuTolerations": [{"key": "gpu", "operator": "Exists"}],
    "storage": {"className": "nfs"},
}
ELSEWHERE = {
    **LEAST,
    "engine": {"url": "https://models.example/v1", "model": "m", "hasKey": True},
    "processes": {"train": {"replicas": 1}},
    "networkPolicy": {"enabled": False},
}
CHOICES = pytest.mark.parametrize("values", [LEAST, ALL, ELSEWHERE], ids=["least", "all", "other"])


def render(values):
    """Every object of the chart, by its kind and name."""
    with helm.Chart.load(str(CHART)) as chart:
        files = chart.render(values, name="r4p", namespace="bots")
    documents = [
        one
        for name, text in files.items()
        if name.endswith(".yaml")
        for one in yaml.safe_load_all(text)
    ]
    return {(one["kind"], one["metadata"]["name"]): one for one in documents if one}


def list_pods(objects):
    """The pods of all objects by the name of the object."""
    return {
        name: one["spec"]["template"]["spec"]
        for (_, name), one in objects.items()
        if "template" in one.get("spec", {})
    }


def list_containers(pod):
    return [*pod.get("initContainers", []), *pod["containers"]]


def read_secrets(pod):
    """The keys of the Secret that a pod reads, as variables or as files."""
    variables = {
        one["valueFrom"]["secretKeyRef"]["key"]
        for container in list_containers(pod)
        for one in container.get("env", [])
        if "valueFrom" in one
    }
    files = {
        item["key"]
        for volume in pod["volumes"]
        if "secret" in volume
        for item in volume["secret"]["items"]
    }
    return variables | files


def test_helm_finds_nothing_to_say_about_the_chart():
    report = helm.lint(str(CHART), values=LEAST, strict=True)
    assert report["errors"] == []
    said = [one["error"] for one in report["messages"]]
    assert said in (["icon is recommended"], [])


@CHOICES
def test_kubernetes_knows_every_field(values):
    objects = render(values)
    assert len(objects) > 10
    for one in objects.values():
        kubernetes.validate(one, KUBERNETES, strict=True)


def test_each_process_gets_the_secrets_that_compose_gives_it():
    pods = list_pods(render(ALL))
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    composed = {
        name.removeprefix("worker-"): set(
            re.findall(
                r"(\w+_PASSWORD|R4P_WEBHOOK_SECRET|\w+_PRIVATE_KEY|\w+_SECRET|\w+_API_KEY)\b",
                str(one["environment"]).replace("_PRIVATE_KEY_PATH", "_PRIVATE_KEY"),
            )
        )
        for name, one in services.items()
        if name in {"web", "beat"} or name.startswith("worker-")
    }
    rendered = {name: read_secrets(pods[f"r4p-{name}"]) for name in composed}
    assert rendered == composed
    assert read_secrets(pods["r4p-migrate"]) == {
        "POSTGRES_PASSWORD",
        *(f"{role.removeprefix('r4p_').upper()}_DB_PASSWORD" for role in ProcessRole),
    }


def test_each_process_runs_the_command_that_compose_runs():
    pods = list_pods(render(ALL))
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    for name, one in services.items():
        if name in {"web", "beat"} or name.startswith("worker-"):
            container = pods[f"r4p-{name.removeprefix('worker-')}"]["containers"][0]
            assert container["args"][:3] == one["command"][:3]
            target = one["build"]["target"]
            assert container["image"].startswith(f"r4p-bot-{target}:")


@CHOICES
def test_every_container_is_closed(values):
    for name, pod in list_pods(render(values)).items():
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["enableServiceLinks"] is False, name
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        for container in list_containers(pod):
            closed = container["securityContext"]
            assert closed["readOnlyRootFilesystem"] is True, name
            assert closed["allowPrivilegeEscalation"] is False, name
            assert closed["capabilities"] == {"drop": ["ALL"]}, name
            assert "memory" in container["resources"]["limits"], name


def test_only_the_sandboxes_change_the_profile_of_system_calls():
    pods = list_pods(render(ALL))
    changed = {
        name: pod["containers"][0]["securityContext"]
        for name, pod in pods.items()
        if "seccompProfile" in pod["containers"][0]["securityContext"]
    }
    assert changed.keys() == {"r4p-agents", "r4p-tests"}
    assert changed["r4p-tests"]["procMount"] == "Unmasked"
    assert pods["r4p-tests"]["hostUsers"] is False


def test_judges_that_read_code_get_trees_and_a_sandbox():
    pods = [list_pods(render(ALL | more))["r4p-verify"] for more in ({}, {"judgesReadCode": True})]
    profiles = ["seccompProfile" in pod["containers"][0]["securityContext"] for pod in pods]
    mounted = [{mount["name"] for mount in pod["containers"][0]["volumeMounts"]} for pod in pods]
    assert profiles == [False, True]
    assert mounted[1] - mounted[0] == {"trees"}


def test_pods_that_read_untrusted_text_have_no_way_out():
    objects = render(ALL)
    open_pods = {
        name
        for (_, name), one in objects.items()
        if one.get("spec", {})
        .get("template", {})
        .get("metadata", {})
        .get("labels", {})
        .get("r4p/network")
        == "open"
    }
    model = next(name for kind, name in objects if name.startswith("r4p-models-"))
    assert open_pods == {"r4p-web", "r4p-github", "r4p-writer", model}
    egress = objects["NetworkPolicy", "r4p-closed"]["spec"]["egress"]
    ports = [rule["ports"][0]["port"] for rule in egress if "to" not in rule]
    assert ports == [53, 5432]


@CHOICES
def test_the_settings_are_valid_for_the_bot(values, monkeypatch):
    objects = render(values)
    settings = objects["ConfigMap", "r4p-settings"]["data"]
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert settings.keys() <= list_known_names()
    mistakes = [line for kind in list_kinds() for line in find_mistakes(kind)]
    assert not [line for line in mistakes if line.partition(":")[0] in settings]
    assert settings["R4P_APP_ID"] == "12345"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "settings.R4P_APP_ID: is empty"),
        ({"R4P_APP_ID": "1", "R4P_WEBHOOK_SECRET": "s"}, "R4P_WEBHOOK_SECRET: a secret belongs"),
        ({"R4P_APP_ID": "1", "R4P_ENGINE_URL": "u"}, "R4P_ENGINE_URL: the chart sets it"),
        ({"R4P_APP_ID": "1", "VERIFIER": "r4p"}, "VERIFIER"),
    ],
)
def test_a_setting_in_the_wrong_place_is_refused_by_its_name(settings, message):
    with pytest.raises(helm.HelmError, match=re.escape(message)):
        render({"settings": settings})


def test_a_promotion_reaches_each_server_and_each_takes_adapters():
    objects = render(ALL)
    settings = objects["ConfigMap", "r4p-settings"]["data"]
    urls = settings["R4P_ENGINE_URLS"].split(",")
    assert len(urls) == objects["StatefulSet", "r4p-vllm"]["spec"]["replicas"] == 3
    assert urls[2] == "http://r4p-vllm-2.r4p-vllm-pods:8000/v1"
    server = objects["StatefulSet", "r4p-vllm"]["spec"]["template"]["spec"]["containers"][0]
    composed = yaml.safe_load(COMPOSE.read_text())["services"]["vllm"]
    flags = [
        {word.partition("=")[0] for word in one} for one in (server["args"], composed["command"])
    ]
    assert flags[0] == flags[1]
    variables = {one["name"]: one.get("value") for one in server["env"]}
    assert variables["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "1"
    assert server["image"] == composed["image"]


def test_every_process_of_the_bot_has_time_to_stop():
    times = {
        name: one["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
        for (kind, name), one in render(ALL).items()
        if kind == "Deployment" and name != "r4p-valkey"
    }
    assert {"r4p-web", "r4p-verify", "r4p-train", "r4p-beat"} <= times.keys()
    assert [name for name, seconds in times.items() if seconds < LEAST_STOP_SECONDS] == []


def test_replicas_follow_the_length_of_the_queue():
    objects = render(ALL)
    for name in ("verify", "agents"):
        spec = objects["HorizontalPodAutoscaler", f"r4p-{name}"]["spec"]
        (metric,) = [one["external"]["metric"] for one in spec["metrics"]]
        assert metric == {
            "name": "r4p_jobs",
            "selector": {"matchLabels": {"queue": name, "state": "ready"}},
        }
        assert "replicas" not in objects["Deployment", f"r4p-{name}"]["spec"]
        assert spec["minReplicas"] < spec["maxReplicas"]
    assert ("HorizontalPodAutoscaler", "r4p-beat") not in objects


def test_every_claim_that_a_pod_mounts_exists():
    objects = render(ALL)
    claims = {name for kind, name in objects if kind == "PersistentVolumeClaim"}
    mounted = {
        volume["persistentVolumeClaim"]["claimName"]
        for pod in list_pods(objects).values()
        for volume in pod["volumes"]
        if "persistentVolumeClaim" in volume
    }
    assert mounted == claims


def test_the_chart_has_the_version_of_the_package():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert chart["version"] == chart["appVersion"] == project["version"]
