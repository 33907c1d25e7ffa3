"""Each process is told only the secrets its work needs."""

import inspect
import os
import subprocess
import sys

import pytest

from app import settings
from app.operator.processes import (
    FIT,
    SECRETS,
    TRAINER,
    WRITER,
    exec_worker,
    list_processes,
    remote_environment,
)
from app.settings import SettingsError, build_child_environment
from app.settings.loader import Settings

GIVEN = dict.fromkeys(SECRETS, "value") | {"R4P_DATABASE_URL": "postgresql://"}


@pytest.mark.parametrize(
    ("name", "secrets"),
    [
        ("web", {"R4P_WEBHOOK_SECRET", "R4P_OAUTH_CLIENT_SECRET"}),
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


def test_every_secret_setting_is_withheld_by_default():
    secret = {
        f"R4P_{name}".upper()
        for kind in vars(settings).values()
        if inspect.isclass(kind) and issubclass(kind, Settings)
        for name, field in kind.model_fields.items()
        if "SecretStr" in str(field.annotation)
    }
    assert secret
    assert secret <= SECRETS


@pytest.mark.parametrize(
    ("worker", "settings", "error"),
    [
        ("verify", {"VERIFIER": "oracle"}, "R4P_VERIFIER: unknown verifier 'oracle'"),
        (
            "verify",
            {"VERIFIER": "hybrid:pointwise+regression"},
            r"R4P_VERIFIER: verifier hybrid:pointwise\+regression judges by tests, .* by R4P_TESTS",
        ),
        (
            "verify",
            {"VERIFIER": "r4p", "LEAVE_ONE_OUT": "true", "STOP_EARLY": "true"},
            "R4P_LEAVE_ONE_OUT: .* choose one of the two options",
        ),
        ("verify", {"MIN_LINES": "-1"}, "R4P_MIN_LINES: can't be '-1': give .* at least 0"),
        (
            "verify",
            {"VERIFIER": "r4p", "PROMPT": "r4p=nowhere.j2"},
            r"R4P_PROMPT: prompt nowhere.j2 can't be read: .*; name a file",
        ),
        (
            "verify",
            {"PROMPT": "a.j2", "VERIFIER": "hybrid:r4p+consensus"},
            "R4P_PROMPT: .*; write VERIFIER=FILE for r4p",
        ),
        (
            "agents",
            {"REPAIR_PROMPT": "swe_rl_repair"},
            "R4P_REPAIR_PROMPT: it does nothing for agent mini-se; leave it out",
        ),
        (
            "agents",
            {"REPAIR_PROMPT": "other", "AGENT": "agentless-mini"},
            "R4P_REPAIR_PROMPT: no repair prompt is called 'other'; there are agentless_repair, ",
        ),
        ("agents", {"AGENT": "smith"}, "R4P_AGENT: no agent is called 'smith'"),
    ],
)
def test_a_worker_refuses_settings_that_it_cannot_use(monkeypatch, worker, settings, error):
    for name, value in settings.items():
        monkeypatch.setenv(f"R4P_{name}", value)
    with pytest.raises(SettingsError, match=error):
        exec_worker(worker, 1)


def test_a_remote_environment_has_no_secret_and_no_store(monkeypatch):
    for name, value in (GIVEN | {"R4P_REDIS_URL": "redis://", "R4P_MODEL": "base"}).items():
        monkeypatch.setenv(name, value)
    told = remote_environment()
    assert told["R4P_MODEL"] == "base"
    assert not told.keys() & (SECRETS | {"R4P_DATABASE_URL", "R4P_REDIS_URL", "PATH"})


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["run", "PLAN", "--dataset", "D"], "8 processes -m training run PLAN --dataset D\n"),
        (["run"], "8 processes -m training run\n"),
        (["status", "--help"], None),
    ],
)
def test_only_a_run_is_started_as_several_processes(monkeypatch, arguments, output):
    monkeypatch.setenv("R4P_TRAIN_WITH", "echo '8 processes'")
    command = [sys.executable, "-m", "app.cli", "train", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == output if output else "8 processes" not in done.stdout


def test_a_fit_is_told_no_secret():
    assert SECRETS & FIT.build_environment(GIVEN).keys() == set()


WORKER = """
import runpy, subprocess, sys
sys.argv = ["celery", "--version"]
try:
    runpy.run_module(MODULE, run_name="__main__", alter_sys=True)
except SystemExit:
    pass
subprocess.run([sys.executable, "-c", CHILD])
"""
CHILD = """
import os
for name, flags in (("environ", os.O_RDONLY), ("mem", os.O_RDWR)):
    try:
        os.close(os.open(f"/proc/{os.getppid()}/{name}", flags))
        print(name, "opened")
    except PermissionError:
        print(name, "refused")
"""


@pytest.mark.parametrize(
    ("module", "answer"), [("worker.celery_command", "refused"), ("colorsys", "opened")]
)
def test_a_child_of_a_worker_cannot_read_the_workers_memory(module, answer):
    """The second module is the control: an ordinary process hides nothing from its own user."""
    # Root reads every process, so root gives up its capabilities first.
    plain = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    code = WORKER.replace("MODULE", repr(module)).replace("CHILD", repr(CHILD))
    command = [*plain, sys.executable, "-c", code]
    given = {
        "R4P_DATABASE_URL": "postgresql://r4p:canary@localhost/r4p",
        "R4P_REDIS_URL": "redis://localhost",
    }
    done = subprocess.run(
        command, env=build_child_environment(given), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-2:] == [f"environ {answer}", f"mem {answer}"], done.stderr
