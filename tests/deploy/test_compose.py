"""The compose file hands every process the settings and the secrets that it needs, and no others."""

import json
import re
import tomllib
from pathlib import Path

import yaml

from app.db.process_grants import ProcessRole
from app.github.http.auth import PERMISSIONS, Purpose
from app.jobs.job import Queue
from app.settings import find_mistakes, list_known_names
from app.settings.loader import OTHER_NAMES
from deploy.reference.environment import NOT_HERE, list_composed
from deploy.reference.settings import list_kinds, list_settings
from worker.celery_app import PATIENCE_SECONDS

SECRET = {f"R4P_{name}" for name in ("PRIVATE_KEY", "PRIVATE_KEY_PATH", "WEBHOOK_SECRET")}
DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = DEPLOY / "compose.yaml"
EXAMPLES = [DEPLOY / ".env.example", DEPLOY / "settings.env.example"]
MINE = re.compile(r"^(?:# )?([A-Z][A-Z0-9_]+)=", re.MULTILINE)
"""A variable of an example, in use or not."""
LEAST_STOP_SECONDS = 30
"""What docs/operations.md asks of supervisors: running jobs have `PATIENCE_SECONDS`, and a part of a minute is left."""


def read_names(example):
    return set(MINE.findall(example.read_text()))


def test_every_setting_can_be_passed():
    """By settings.env to every process, or by the compose file to those that need it."""
    names = list_known_names() - OTHER_NAMES
    settings = read_names(DEPLOY / "settings.env.example")
    assert names - settings - list_composed() == NOT_HERE.keys()
    assert settings & list_composed() == set()


def test_every_process_reads_settings_env():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    built = {name: one for name, one in services.items() if "build" in one}
    assert len(built) >= len(Queue) + 2
    assert {one["env_file"] for one in built.values()} == {"settings.env"}


def test_every_process_of_the_bot_has_time_to_stop():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    times = {name: one["stop_grace_period"] for name, one in services.items() if "build" in one}
    assert PATIENCE_SECONDS < LEAST_STOP_SECONDS
    assert [
        name for name, time in times.items() if int(time.removesuffix("s")) < LEAST_STOP_SECONDS
    ] == []


def test_no_secret_stands_in_settings_env():
    secret = {
        row[0].strip("`") for _, rows in list_settings() for row in rows if "secret" in row[1]
    }
    assert {"R4P_WEBHOOK_SECRET", "R4P_ENGINE_API_KEY"} <= secret
    assert not secret & read_names(DEPLOY / "settings.env.example")


def test_the_examples_name_what_the_compose_file_reads_and_nothing_else():
    read = set(re.findall(r"\$\{([A-Z0-9_]+)", COMPOSE.read_text()))
    services = yaml.safe_load(COMPOSE.read_text())["services"].values()
    passed = {
        name
        for service in services
        for name, value in service.get("environment", {}).items()
        if value is None
    }
    assert read_names(DEPLOY / ".env.example") == read | passed | {"COMPOSE_PROFILES"}


def test_the_example_of_the_settings_is_valid_and_changes_nothing(monkeypatch):
    """With every # removed: what is shown is the default, in the form that the bot reads."""
    optional = [kind for kind in list_kinds() if not find_mistakes(kind)]
    before = [kind() for kind in optional]
    for line in (DEPLOY / "settings.env.example").read_text().splitlines():
        name, mark, value = line.removeprefix("# ").partition("=")
        if mark and MINE.match(line) and value and "~" not in value:
            monkeypatch.setenv(name, value)
    assert [kind() for kind in optional] == before
    assert len(optional) >= 10


def test_who_hands_trees_over_and_who_works_on_them_have_one_folder():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    fetches, works = services["worker-github"], services["worker-agents"]
    assert "trees:/trees" in fetches["volumes"]
    assert works["volumes"] == ["trees:/trees"]
    assert fetches["environment"]["R4P_TREES"] == works["environment"]["R4P_TREES"] == "/trees"
    judges = services["worker-verify"]
    assert (judges["volumes"], judges["environment"]["R4P_TREES"]) == (["trees:/trees"], "/trees")
    assert all("R4P_PROMPT" in each["environment"] for each in (fetches, works, judges))


def test_every_volume_of_the_bot_is_first_mounted_by_an_image_that_owns_its_folder():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    first = set(services["folders"]["volumes"])
    script = (DEPLOY / "images" / "prepare_system.sh").read_text()
    assert {mount.partition(":")[2] for mount in first} <= set(script.split())
    for name, service in services.items():
        written = {
            mount
            for mount in service.get("volumes", [])
            if not mount.endswith(":ro") and "build" in service
        }
        assert written <= first, name
        if name not in {"folders", "migrate", "postgres", "valkey", "logins", "models"}:
            waits = service.get("depends_on", {})
            assert "folders" in waits or name in {"prometheus", "grafana"}, name


def test_whose_agents_have_tools_is_told_nothing_of_githubs():
    works = yaml.safe_load(COMPOSE.read_text())["services"]["worker-agents"]
    assert not works["environment"].keys() & SECRET
    assert "secrets" not in works
    assert works["networks"] == ["inside", "engine"]


def test_who_may_write_code_has_the_second_key_and_nobody_else():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    (writer,) = [
        name for name, one in services.items() if "writer_private_key" in one.get("secrets", [])
    ]
    assert writer == "worker-writer"
    assert services[writer]["secrets"] == ["writer_private_key"]
    assert services[writer]["profiles"] == ["writer"]
    assert not services[writer]["environment"].keys() & SECRET
    assert not [name for name in services[writer]["environment"] if "ENGINE" in name]


def test_the_second_app_asks_for_what_a_draft_takes_and_the_first_for_no_right_to_write_code():
    first, second = (
        json.loads((COMPOSE.parent / f"{name}-manifest.json").read_text())["default_permissions"]
        for name in ("app", "writer")
    )
    assert second == PERMISSIONS[Purpose.OPEN_DRAFT]
    assert first["contents"] == "read"


def test_every_queue_has_a_worker():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    named = [
        one["command"][2].split(",")
        for one in services.values()
        if "worker" in one.get("command", [])
    ]
    assert sorted(queue for names in named for queue in names) == sorted(Queue)


def test_every_container_has_a_read_only_root_no_capability_and_a_memory_limit():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert service["mem_limit"], name
        assert not {"privileged", "cap_add", "ipc", "pid", "network_mode"} & service.keys(), name


def test_the_worker_that_runs_tests_has_no_key_and_no_way_out():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    works, fetches = services["worker-tests"], services["worker-github"]
    assert not works["environment"].keys() & SECRET
    assert not [name for name in works["environment"] if "ENGINE" in name]
    assert "secrets" not in works
    assert (works["networks"], works["profiles"]) == (["inside"], ["tests"])
    assert works["volumes"] == ["test-trees:/test-trees", "environments:/environments:ro"]
    assert "test-trees:/test-trees" in fetches["volumes"]


def test_only_the_containers_with_sandboxes_change_dockers_profiles():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    changed = {
        name: service["security_opt"][1:]
        for name, service in services.items()
        if service["security_opt"] != ["no-new-privileges:true"]
    }
    sandboxed = ["seccomp:agents-seccomp.json", "apparmor:unconfined"]
    # Where a part of /proc is covered, the kernel refuses a new one, which tests see in their sandbox.
    with_processes = [*sandboxed, "systempaths=unconfined"]
    assert changed == {"worker-agents": sandboxed, "worker-tests": with_processes}
    assert (COMPOSE.parent / "agents-seccomp.json").is_file()


def test_every_image_is_pinned_to_an_exact_version():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    images = {service["image"] for service in services.values() if "build" not in service}
    assert len(images) >= 5
    for image in images:
        assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+(\.\d+)?(-\w+)?(@sha256:[0-9a-f]{64})?", image)


def test_a_bot_without_a_gpu_starts_without_a_profile():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    profiles = {name: one.get("profiles") for name, one in services.items()}
    assert {name for name, these in profiles.items() if these == ["gpu"]} == {"models", "vllm"}
    always = {name for name, these in profiles.items() if these is None}
    assert always >= {"web", "beat", "worker-github", "worker-verify", "worker-agents"}
    devices = {name for name in always if "deploy" in services[name]}
    assert devices == set()


def test_the_images_have_the_version_of_the_package():
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    images = {one["image"] for one in services.values() if "build" in one}
    tag = f"${{IMAGE_TAG:-{project['version']}}}"
    assert f"IMAGE_TAG={project['version']}\n" in (DEPLOY / ".env.example").read_text()
    kinds = ("app", "worker", "trainer")
    assert images == {f"${{IMAGE_PREFIX:-r4p-bot-}}{kind}:{tag}" for kind in kinds}
    assert {one["build"]["target"] for one in services.values() if "build" in one} == set(kinds)


def test_each_process_has_a_database_login_of_its_own():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    urls = {
        name: service["environment"]["R4P_DATABASE_URL"]
        for name, service in services.items()
        if "R4P_DATABASE_URL" in service.get("environment", {})
    }
    users = {name: url.partition("://")[2].partition(":")[0] for name, url in urls.items()}
    assert users.pop("migrate") == "r4p"
    assert users == {
        "web": "r4p_web",
        **{
            f"worker-{name}": f"r4p_{name}"
            for name in ("github", "verify", "agents", "writer", "train", "tests")
        },
    }
    assert set(users.values()) == set(ProcessRole)
    with_owner = [name for name, service in services.items() if "POSTGRES_PASSWORD" in str(service)]
    assert sorted(with_owner) == ["logins", "migrate", "postgres"]
    statements = (COMPOSE.parent / "logins.sql").read_text()
    assert set(re.findall(r"alter role (\w+) login", statements)) == set(ProcessRole)
    for name, user in users.items():
        password = f"{user.removeprefix('r4p_').upper()}_DB_PASSWORD"
        assert f":${{{password}:?" in urls[name]
        assert password in services["logins"]["environment"]
        assert password in statements
