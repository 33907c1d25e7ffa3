"""`r4p doctor` on what verdicts do not need: tests of repositories, and free space in every folder of the bot."""

import pytest
from typer.testing import CliRunner

from app.cli import main
from tests.app.operator.doctor.test_doctor import doctor, github  # noqa: F401 - fixtures
from tests.builders.plain_environments import build_plain_environment

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n"
"""No usable key, so that nothing asks GitHub."""
IDENTITY = {"APP_ID": "7", "PRIVATE_KEY": PEM, "WEBHOOK_SECRET": "s", "VERIFIER": "consensus"}
FOLDERS = ("CHECKOUT_DIR", "TREES", "TESTS_TREES", "TRAIN_DIR")


def test_tests_of_repositories_are_off_without_an_environment_or_on(
    bubblewrap,
    doctor,  # noqa: F811
    tmp_path,
):
    off = "ok: off: R4P_TESTS names no folder of test environments"
    assert doctor(verifier="consensus")[1]["tests"] == off
    code, found = doctor(tests=str(tmp_path))
    assert (code, found["tests"]) == (
        0,
        f"less: R4P_TESTS {tmp_path} holds no test environment: build one by `r4p environments build`",
    )
    build_plain_environment(tmp_path)
    ready = f"ok: environments in {tmp_path}: plain"
    assert doctor()[1]["tests"] == ready
    written = f"{ready}; the model writes 4 tests for an issue"
    assert doctor(reproduction_tests="4")[1]["tests"] == written


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The folders of the settings, all in one place."""
    named = {name: tmp_path / name for name in FOLDERS}
    for name, value in {**IDENTITY, **named}.items():
        monkeypatch.setenv(f"R4P_{name}", str(value))
    for folder in named.values():
        folder.mkdir()
    return list(named.values())


def list_disks():
    lines = CliRunner().invoke(main, ["doctor"]).stdout.splitlines()
    return [line.rpartition(" free at ")[2] for line in lines if " disk " in line]


def test_tests_and_trainings_have_folders_only_where_they_are_on(folders, tmp_path, monkeypatch):
    assert list_disks() == list(map(str, folders[:2]))
    monkeypatch.setenv("R4P_TESTS", str(tmp_path))
    monkeypatch.setenv("R4P_TRAIN_PLAN", "plan")
    assert list_disks() == list(map(str, folders))


def test_folders_that_are_still_to_be_made_in_one_place_are_one_line(folders, tmp_path):
    for folder in folders:
        folder.rmdir()
    assert list_disks() == [str(tmp_path)]
