"""Each process is told only the secrets its work needs."""

import subprocess
import sys

import pytest

from app.operator.processes import (
    FIT,
    SECRETS,
    TRAINER,
    WRITER,
    exec_worker,
    list_processes,
    remote_environment,
)
from app.settings import SettingsError

GIVEN = dict.fromkeys(SECRETS, "value") | {"R4P_DATABASE_URL": "postgresql://"}


@pytest.mark.parametrize(
    ("name", "secrets"),
    [
        ("web", {"R4P_WEBHOOK_SECRET"}),
        ("github", {"R4P_PRIVATE_KEY", "R4P_PRIVATE_KEY_PATH"}),
        ("verify", {"R4P_ENGINE_API_KEY"}),
        ("agents", {"R4P_ENGINE_API_KEY"}),
        ("beat", set()),
        ("train", {"R4P_ENGINE_API_KEY"}),
        ("writer", {"R4P_WRITER_PRIVATE_KEY", "R4P_WRITER_PRIVATE_KEY_PATH"}),
    ],
)
def test_a_process_sees_its_own_secrets_and_no_others(name, secrets):
    (process,) = [
        one for one in (*list_processes("127.0.0.1", 8000), TRAINER, WRITER) if one.name == name
    ]
    environment = process.build_environment(GIVEN)
    assert SECRETS & environment.keys() == secrets
    assert environment["R4P_DATABASE_URL"] == "postgresql://"


def test_a_worker_that_judges_refuses_an_unknown_verifier_at_once(monkeypatch):
    monkeypatch.setenv("R4P_VERIFIER", "oracle")
    with pytest.raises(SettingsError, match="R4P_VERIFIER: unknown verifier 'oracle'"):
        exec_worker("verify", 1)


def test_a_worker_that_judges_refuses_settings_that_can_not_go_together(monkeypatch):
    monkeypatch.setenv("R4P_LEAVE_ONE_OUT", "true")
    monkeypatch.setenv("R4P_STOP_EARLY", "true")
    with pytest.raises(SettingsError, match=r"R4P_LEAVE_ONE_OUT: .* choose one of the two options"):
        exec_worker("verify", 1)


def test_a_worker_that_judges_refuses_a_minimum_below_nothing(monkeypatch):
    monkeypatch.setenv("R4P_MIN_LINES", "-1")
    with pytest.raises(SettingsError, match=r"R4P_MIN_LINES: can't be '-1': give .* at least 0"):
        exec_worker("verify", 1)


def test_a_worker_of_agents_refuses_an_unknown_agent_at_once(monkeypatch):
    monkeypatch.setenv("R4P_AGENT", "smith")
    with pytest.raises(SettingsError, match="R4P_AGENT: no agent is called 'smith'"):
        exec_worker("agents", 1)


def test_what_goes_elsewhere_has_no_secret_and_no_store(monkeypatch):
    for name, value in (GIVEN | {"R4P_REDIS_URL": "redis://", "R4P_MODEL": "base"}).items():
        monkeypatch.setenv(name, value)
    told = remote_environment()
    assert told["R4P_MODEL"] == "base"
    assert not told.keys() & (SECRETS | {"R4P_DATABASE_URL", "R4P_REDIS_URL", "PATH"})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "PLAN", "--dataset", "D"], "8 processes -m training run PLAN --dataset D\n"),
        (["run"], "8 processes -m training run\n"),
    ],
)
def test_a_run_is_started_by_what_makes_several_processes_of_it(monkeypatch, arguments, said):
    monkeypatch.setenv("R4P_TRAIN_WITH", "echo '8 processes'")
    asked = [sys.executable, "-m", "app.cli", "train", *arguments]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == said


def test_everything_else_is_one_process(monkeypatch):
    monkeypatch.setenv("R4P_TRAIN_WITH", "echo '8 processes'")
    asked = [sys.executable, "-m", "app.cli", "train", "status", "--help"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert "8 processes" not in found


def test_a_fit_is_told_no_secret():
    assert SECRETS & FIT.build_environment(GIVEN).keys() == set()
