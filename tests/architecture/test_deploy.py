"""The compose file hands every process the settings it needs."""

import json
import re
from pathlib import Path

import pytest
import yaml

from app.db.process_grants import ProcessRole
from app.github.http.auth import PERMISSIONS, Purpose
from app.jobs.job import Queue
from app.settings import CeilingSettings, IdentitySettings

SECRET = {f"R4P_{name}" for name in ("PRIVATE_KEY", "PRIVATE_KEY_PATH", "WEBHOOK_SECRET")}
COMPOSE = Path(__file__).parents[2] / "deploy" / "compose.yaml"
IDENTITY = {f"R4P_{name.upper()}" for name in IdentitySettings.model_fields}


@pytest.mark.parametrize("name", ["web", "worker-github"])
def test_who_reads_commands_and_links_is_told_who_we_are_and_where(name):
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    assert services[name]["environment"].keys() >= IDENTITY


def test_who_hands_trees_over_and_who_works_on_them_have_one_folder_and_one_agent():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    fetches, works = services["worker-github"], services["worker-agents"]
    assert "trees:/trees" in fetches["volumes"]
    assert works["volumes"] == ["trees:/trees"]
    both = {"R4P_TREES", "R4P_AGENT"}
    told = [{name: one["environment"][name] for name in both} for one in (fetches, works)]
    assert told[0] == told[1]


def test_whose_agents_have_tools_is_told_nothing_of_githubs():
    works = yaml.safe_load(COMPOSE.read_text())["services"]["worker-agents"]
    assert not works["environment"].keys() & SECRET
    assert "secrets" not in works
    assert works["networks"] == ["inside"]


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


@pytest.mark.parametrize("name", ["worker-github", "worker-agents"])
def test_the_workers_that_spend_read_the_operators_ceilings(name):
    environment = yaml.safe_load(COMPOSE.read_text())["services"][name]["environment"]
    ceilings = CeilingSettings()
    shown = {
        f"R4P_{field.upper()}": f"${{R4P_{field.upper()}:-{value}}}" for field, value in ceilings
    }
    assert shown.items() <= environment.items()


def test_workers_read_the_limit_of_running_jobs_and_the_processes_of_github_the_allowed_accounts():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    for service in services.values():
        if "worker" in service.get("command", []):
            assert "R4P_MAX_RUNNING_PER_INSTALLATION" in service["environment"]
    for name in ("web", "worker-github"):
        assert "R4P_ALLOWED_ACCOUNTS" in services[name]["environment"]


def test_every_queue_has_a_worker():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    named = [
        one["command"][2].split(",")
        for one in services.values()
        if "worker" in one.get("command", [])
    ]
    assert sorted(queue for names in named for queue in names) == sorted(Queue)


def test_the_engine_that_agents_ask_reads_calls_of_tools():
    command = yaml.safe_load(COMPOSE.read_text())["services"]["vllm"]["command"]
    assert "--enable-auto-tool-choice" in command
    assert "--tool-call-parser=${VLLM_TOOL_CALL_PARSER:-hermes}" in command


def test_the_model_server_tells_its_special_tokens():
    command = yaml.safe_load(COMPOSE.read_text())["services"]["vllm"]["command"]
    assert "--enable-tokenizer-info-endpoint" in command


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
        name: service["security_opt"]
        for name, service in services.items()
        if service["security_opt"] != ["no-new-privileges:true"]
    }
    sandboxed = [
        "no-new-privileges:true",
        "seccomp:agents-seccomp.json",
        "apparmor:unconfined",
    ]
    assert changed == dict.fromkeys(["worker-agents", "worker-tests"], sandboxed)
    assert (COMPOSE.parent / "agents-seccomp.json").is_file()


def test_every_image_is_pinned_to_an_exact_version():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    images = {service["image"] for service in services.values() if "image" in service}
    assert images
    for image in images:
        assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+(\.\d+)?(-\w+)?(@sha256:[0-9a-f]{64})?", image)


def test_the_model_server_has_a_key_and_no_way_out():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    key = services["vllm"]["environment"]["VLLM_API_KEY"]
    assert key.startswith("${VLLM_API_KEY:?")
    assert services["vllm"]["networks"] == ["inside"]
    assert "ports" not in services["vllm"]
    asking = {
        name: service["environment"]["R4P_ENGINE_API_KEY"]
        for name, service in services.items()
        if "R4P_ENGINE_URL" in service.get("environment", {})
    }
    assert asking == dict.fromkeys(["worker-verify", "worker-agents", "worker-train"], key)


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
