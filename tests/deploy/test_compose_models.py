"""The model server and the trainer of the compose file."""

import subprocess

import pytest
import yaml

from tests.deploy.test_compose import COMPOSE
from training.plans.plan_file import list_shipped_plans, load_plan


def test_the_engine_that_agents_ask_reads_calls_of_tools():
    command = yaml.safe_load(COMPOSE.read_text())["services"]["vllm"]["command"]
    assert "--enable-auto-tool-choice" in command
    assert "--tool-call-parser=${VLLM_TOOL_CALL_PARSER:-hermes}" in command


def test_the_model_server_tells_its_special_tokens():
    command = yaml.safe_load(COMPOSE.read_text())["services"]["vllm"]["command"]
    assert "--enable-tokenizer-info-endpoint" in command


def test_the_model_server_has_a_key_and_no_way_out():
    compose = yaml.safe_load(COMPOSE.read_text())
    vllm = compose["services"]["vllm"]
    assert vllm["environment"]["VLLM_API_KEY"] == "${R4P_ENGINE_API_KEY:-}"
    assert "R4P_ENGINE_API_KEY" in str(compose["services"]["models"]["command"])
    assert vllm["depends_on"]["models"]["condition"] == "service_completed_successfully"
    assert vllm["networks"] == ["engine"]
    assert compose["networks"]["engine"] == {"internal": "${ENGINE_INSIDE:-true}"}
    assert "ports" not in vllm
    asking = [
        name
        for name, service in compose["services"].items()
        if "R4P_ENGINE_API_KEY" in service.get("environment", {}) and "build" in service
    ]
    assert asking == ["worker-verify", "worker-agents", "worker-train"]


def test_the_model_server_takes_adapters_as_a_promotion_needs():
    vllm = yaml.safe_load(COMPOSE.read_text())["services"]["vllm"]
    assert {"--enable-lora", "--max-loras=${VLLM_LORAS:-3}"} <= set(vllm["command"])
    assert "--max-lora-rank=${VLLM_LORA_RANK:-64}" in vllm["command"]
    assert vllm["environment"]["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "1"
    assert "trainings:/trainings:ro" in vllm["volumes"]
    plans = [load_plan(name) for name in list_shipped_plans()]
    assert max(plan.adapter.rank for plan in plans if plan.adapter) <= 64


def test_the_trainer_has_torch_and_gpus_of_its_own():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    trainer, vllm = services["worker-train"], services["vllm"]
    assert trainer["build"]["target"] == "trainer"
    devices = [one["environment"]["CUDA_VISIBLE_DEVICES"] for one in (trainer, vllm)]
    assert devices == ["${TRAIN_CUDA_DEVICES:-1}", "${VLLM_CUDA_DEVICES:-0}"]


@pytest.mark.parametrize("key", ["", "k3y"])
def test_the_trainer_starts_with_and_without_a_key(tmp_path, key):
    script = yaml.safe_load(COMPOSE.read_text())["services"]["worker-train"]["entrypoint"][2]
    (tmp_path / "r4p").write_text('#!/bin/sh\necho "$1 $R4P_TRAIN_EVALUATE_ARGS"\n')
    (tmp_path / "r4p").chmod(0o755)
    file = tmp_path / "engine-key"
    script = script.replace("$$", "$").replace("/tmp/engine-key", str(file))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "R4P_TRAIN_EVALUATE_ARGS": "--votes 8"}
    environment |= {"R4P_ENGINE_API_KEY": key} if key else {}
    run = subprocess.run(
        ["sh", "-c", script, "r4p", "worker"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    passed = f"--api-key-file {file} " if key else ""
    assert run.stdout == f"worker {passed}--votes 8\n"
    assert file.exists() == bool(key)
    if key:
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("k3y\n", 0o600)
