"""`r4p doctor` on free space: every folder in which the bot writes with its settings."""

import pytest
from typer.testing import CliRunner

from app.cli import main

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n"
"""No usable key, so that nothing asks GitHub."""
IDENTITY = {"APP_ID": "7", "PRIVATE_KEY": PEM, "WEBHOOK_SECRET": "s", "VERIFIER": "consensus"}
FOLDERS = ("CHECKOUT_DIR", "TREES", "TESTS_TREES", "TRAIN_DIR")


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
