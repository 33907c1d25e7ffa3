"""Every mistake in the settings is told at once: the variable, the value and the fix."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.settings import (
    BrokerSettings,
    DatabaseSettings,
    EngineSettings,
    GateSettings,
    GitHubSettings,
    IdentitySettings,
    LogSettings,
    QueueSettings,
    RunSettings,
    SettingsError,
    TrainSettings,
    WebhookSettings,
    check,
    find_mistakes,
    list_known_names,
    load,
)
from app.settings.loader import REMOVED

ROOT = Path(__file__).parents[3]
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n"


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in list_known_names():
        monkeypatch.delenv(name, raising=False)


def run_cli(*arguments, **settings):
    """`r4p` in a process of its own, with these settings beside a clean environment."""
    environment = {f"R4P_{name}": value for name, value in settings.items()}
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "200", **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_settings_that_can_not_be_used_are_a_mistake_of_usage():
    done = run_cli("migrate")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "r4p: cannot start:",
        "  R4P_DATABASE_URL: is not set: give a text (`postgresql://…`, PostgreSQL 15 or newer)",
    ]
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("R4P_VERIFIR", "R4P_VERIFIR: no setting has this name: did you mean R4P_VERIFIER?"),
        ("R4P_PRIVATE_KEYPATH", "no setting has this name: did you mean R4P_PRIVATE_KEY_PATH?"),
        ("r4p_log_levle", "r4p_log_levle: no setting has this name: did you mean R4P_LOG_LEVEL?"),
        ("R4P_XYZZY", "R4P_XYZZY: no setting has this name: unset it"),
        ("R4P_AGENT_SANDBOX", "R4P_AGENT_SANDBOX: agents always run in bubblewrap now: unset it"),
    ],
)
def test_a_name_that_no_setting_has_is_told_with_the_nearest(monkeypatch, name, lines):
    monkeypatch.setenv(name, "x")
    with pytest.raises(SettingsError, match=re.escape(lines)):
        load(LogSettings)
    with pytest.raises(SettingsError, match=re.escape(lines)):
        check(LogSettings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("R4P_VERIFIER", "consensus"),
        ("r4p_verifier", "consensus"),
        ("R4P_DATA", "/data"),
        ("R4P_BENCH_PEERS", "/peers"),
        ("R4P_PRIVATE_KEY_FILE", "./private-key.pem"),
        ("R4P_SERVICE_HOST", "10.0.0.1"),
        ("R4P_SERVICE_PORT_HTTP", "80"),
        ("R4P_REDIS_PORT", "tcp://10.0.0.1:6379"),
        ("R4P_REDIS_PORT_6379_TCP_ADDR", "10.0.0.1"),
        ("R4PX_VERIFIR", "x"),
    ],
)
def test_a_name_that_has_a_use_is_no_mistake(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert load(LogSettings).log_level == "INFO"


def test_every_name_that_the_repository_writes_down_is_known():
    places = ("app", "deploy", "docs", "model", "training", "worker", "tests/bench", "README.md")
    files = [
        file
        for place in places
        for file in [ROOT / place, *(ROOT / place).rglob("*")]
        if file.suffix in {".py", ".md", ".yaml", ".toml", ".example"} and file.is_file()
    ]
    written = {
        name
        for file in files
        for name in re.findall(r"\bR4P_[A-Z0-9_]*[A-Z0-9]\b", file.read_text())
    }
    prefixes = {"R4P_GATE", "R4P_TRAIN"}
    assert len(written) > 50
    assert written - prefixes - REMOVED.keys() <= list_known_names()


@pytest.mark.parametrize(
    ("kind", "name", "value", "line"),
    [
        (
            LogSettings,
            "R4P_LOG_LEVEL",
            "loud",
            "can't be 'loud': choose DEBUG, INFO, WARNING or ERROR",
        ),
        (GateSettings, "R4P_GATE_MARGIN", "2", "can't be '2': give a number from 0 to 1"),
        (QueueSettings, "R4P_CONCURRENCY", "many", "can't be 'many': give a whole number"),
        (TrainSettings, "R4P_TRAIN_GPUS", "-1", "can't be '-1': give a whole number of at least 0"),
        (
            TrainSettings,
            "R4P_TRAIN_EVERY_SECONDS",
            "0",
            "can't be '0': give a number greater than 0",
        ),
        (
            TrainSettings,
            "R4P_TRAIN_LAUNCHER",
            "lsf",
            "can't be 'lsf': choose subprocess, slurm, kubernetes or ray",
        ),
        (
            TrainSettings,
            "R4P_TRAIN_MEASURED_ON",
            "a.jsonl",
            "can't be 'a.jsonl': give a JSON list of texts",
        ),
        (
            TrainSettings,
            "R4P_TRAIN_MEASURED_ON",
            "[1]",
            "can't be '[1]': give a JSON list of texts",
        ),
        (EngineSettings, "R4P_STOP_EARLY", "maybe", "can't be 'maybe': choose true or false"),
        (IdentitySettings, "R4P_APP_ID", "mine", "can't be 'mine': give a whole number"),
        (RunSettings, "R4P_END_WITH_PARNT", "1", "did you mean R4P_END_WITH_PARENT?"),
        (
            DatabaseSettings,
            "R4P_DATABASE_URL",
            "mysql://u:hidden@h/d",
            "must start with postgresql://, not with mysql://",
        ),
        (DatabaseSettings, "R4P_DATABASE_URL", "hidden", "must start with postgresql://"),
    ],
)
def test_a_mistake_names_the_setting_the_value_and_the_fix(monkeypatch, kind, name, value, line):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as refused:
        load(kind)
    (told,) = [one for one in str(refused.value).splitlines() if one.startswith(f"  {name}: ")]
    assert line in told
    assert "expected" not in told
    assert "hidden" not in told


def test_a_list_of_files_is_json(monkeypatch):
    monkeypatch.setenv("R4P_TRAIN_MEASURED_ON", '["a.jsonl", "b.jsonl"]')
    assert load(TrainSettings).train_measured_on == (Path("a.jsonl"), Path("b.jsonl"))


def test_a_key_that_is_missing_is_told_beside_what_else_is(monkeypatch):
    monkeypatch.setenv("R4P_VERIFIR", "x")
    with pytest.raises(SettingsError) as refused:
        check(GitHubSettings, WebhookSettings, DatabaseSettings, BrokerSettings)
    assert [line.partition(":")[0].strip() for line in str(refused.value).splitlines()[1:]] == [
        "R4P_VERIFIR",
        "R4P_APP_ID",
        "R4P_PRIVATE_KEY_PATH",
        "R4P_WEBHOOK_SECRET",
        "R4P_DATABASE_URL",
        "R4P_REDIS_URL",
    ]


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (("serve",), ["DATABASE_URL", "REDIS_URL", "WEBHOOK_SECRET", "LOG_LEVEL"]),
        (
            ("worker", "--queues", "events,github,verify,agents,writer,train"),
            [
                "DATABASE_URL",
                "REDIS_URL",
                "LOG_LEVEL",
                "APP_ID",
                "PRIVATE_KEY_PATH",
                "WRITER_APP_ID",
                "WRITER_PRIVATE_KEY_PATH",
                "VERIFIER",
                "AGENT",
                "TRAIN_GPUS",
                "MAX_VOTES",
            ],
        ),
        (("beat",), ["REDIS_URL", "LOG_LEVEL"]),
        (
            ("up", "--data", "none"),
            ["VERIFIER", "AGENT", "LOG_LEVEL", "MAX_VOTES"],
        ),
        (("models", "promote", "m"), ["DATABASE_URL", "GATE_MARGIN"]),
        (("doctor",), ["MIN_LINES", "STOP_EARLY"]),
        (("train", "status"), ["DATABASE_URL", "TRAIN_GPUS"]),
        (("calibrate",), ["DATABASE_URL"]),
    ],
)
def test_a_process_tells_every_mistake_in_its_settings_at_once(command, names):
    wrong = {
        "LOG_LEVEL": "loud",
        "TRAIN_GPUS": "-1",
        "GATE_MARGIN": "7",
        "MODLE": "unknown",
        "MAX_VOTES": "0",
    }
    # The doctor reports a verifier or an agent that does not exist in its table, not as a setting.
    if command == ("doctor",):
        wrong |= {"MIN_LINES": "-1", "STOP_EARLY": "soon"}
    else:
        wrong |= {"VERIFIER": "oracle", "AGENT": "smith"}
    done = run_cli(*command, **wrong)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    told = {line.partition(":")[0].strip() for line in done.stderr.splitlines()[1:]}
    assert {f"R4P_{name}" for name in [*names, "MODLE"]} <= told


def test_up_with_a_verifier_that_does_not_exist_starts_nothing(tmp_path):
    pem = tmp_path / "app.pem"
    pem.write_text(PEM)
    given = {"APP_ID": "7", "PRIVATE_KEY_PATH": str(pem), "WEBHOOK_SECRET": "secret"}
    done = run_cli("up", "--data", str(tmp_path / "data"), **given, VERIFIER="r4pp")
    assert done.returncode == 2
    assert "R4P_VERIFIER: unknown verifier 'r4pp'" in done.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("has_app", [True, False])
def test_up_with_settings_that_a_child_would_refuse_starts_nothing(tmp_path, has_app):
    app = {"APP_ID": "7", "PRIVATE_KEY": PEM, "WEBHOOK_SECRET": "secret"} if has_app else {}
    wrong = {"PUBLIC_URL": "nonsense", "POOL_SIZE": "0", "TRAIN_GPUS": "-1", "DATABASE_URL": "-"}
    done = run_cli("up", "--data", str(tmp_path / "data"), **app, **wrong)
    assert done.returncode == 2
    lines = [
        "  R4P_PUBLIC_URL: 'nonsense' is no http or https URL: write https://host",
        "  R4P_TRAIN_GPUS: can't be '-1': give a whole number of at least 0",
        "  R4P_POOL_SIZE: can't be '0': give a whole number of at least 1",
    ]
    assert set(lines) <= set(done.stderr.splitlines())
    assert not has_app or set(done.stderr.splitlines()) == {"r4p: cannot start:", *lines}
    assert "DATABASE_URL" not in done.stderr, "the bot brings its own"
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("given", "heartbeat", "lease", "fix"),
    [
        ({"HEARTBEAT": "60"}, "60", "60", "15"),
        ({"LEASE": "10"}, "15", "10", "2.5"),
        ({"HEARTBEAT": "9", "LEASE": "8"}, "9", "8", "2"),
    ],
)
def test_a_heartbeat_that_is_slower_than_the_lease_is_refused(
    monkeypatch, given, heartbeat, lease, fix
):
    for name, value in given.items():
        monkeypatch.setenv(f"R4P_{name}_SECONDS", value)
    (line,) = find_mistakes(QueueSettings)
    assert line == (
        f"R4P_HEARTBEAT_SECONDS: {heartbeat} must be less than R4P_LEASE_SECONDS, which is {lease}, or each lease ends "
        f"under a running worker: set it to {fix} or less, or raise R4P_LEASE_SECONDS"
    )


@pytest.mark.parametrize(("name", "value"), [("HEARTBEAT", "59.9"), ("LEASE", "15.1")])
def test_a_heartbeat_that_is_just_faster_than_the_lease_is_accepted(monkeypatch, name, value):
    monkeypatch.setenv(f"R4P_{name}_SECONDS", value)
    assert find_mistakes(QueueSettings) == []
