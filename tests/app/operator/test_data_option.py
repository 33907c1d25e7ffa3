"""`--data DIR`: every command of the operator reaches the bot that `r4p up` runs on DIR."""

import json
import subprocess

import pytest
from typer.testing import CliRunner

from app.cli import main
from app.operator.models_cli import main as models
from app.settings import build_plain_environment, data_folder
from app.settings.environment import read_environment
from model.interpreter import module_command
from tests.app.settings.test_data_folder import forget
from training.commands.cli import main as train
from training.commands.labels import app as labels

COMMANDS = [
    (main, ["jobs"]),
    (main, ["migrate"]),
    (main, ["installations", "list"]),
    (main, ["outcomes", "rederive"]),
    (main, ["trace", "no-such-delivery"]),
    (models, ["list"]),
    (models, ["calibrators"]),
    (labels, ["summary"]),
    (train, ["status"]),
]


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    forget(monkeypatch, "R4P_DATABASE_URL", "R4P_REDIS_URL")


@pytest.mark.services
@pytest.mark.parametrize(
    ("application", "words"), COMMANDS, ids=[" ".join(words) for _, words in COMMANDS]
)
def test_the_command_reads_the_database_of_the_folder(
    application, words, tmp_path, database_url, services, monkeypatch
):
    data_folder.write_addresses(tmp_path, database_url, services.redis_url)
    done = CliRunner().invoke(application, [*words, "--data", str(tmp_path)])
    assert done.exit_code == (1 if words[0] == "trace" else 0), done.output
    assert read_environment()["R4P_DATABASE_URL"] == database_url


@pytest.mark.services
def test_a_fit_reads_the_database_of_the_folder(tmp_path, database_url, services):
    """`r4p calibrate` becomes another program, which learns the address from its environment."""
    data_folder.write_addresses(tmp_path, database_url, services.redis_url)
    done = subprocess.run(
        module_command("app.cli", "calibrate", "--data", str(tmp_path)),
        env=build_plain_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"schema": "r4p.refit/1", "judges": []}


@pytest.mark.parametrize(
    ("application", "words"),
    [*COMMANDS, (main, ["calibrate"])],
    ids=[" ".join(words) for _, words in COMMANDS] + ["calibrate"],
)
def test_a_folder_without_a_running_bot_is_one_line(application, words, tmp_path):
    done = CliRunner().invoke(application, [*words, "--data", str(tmp_path)])
    assert done.exit_code == 2
    assert f"no bot runs on {tmp_path}: start it by `r4p up --data {tmp_path}`" in done.output


def test_the_doctor_names_a_folder_that_does_not_exist(tmp_path):
    missing = tmp_path / "typo"
    done = CliRunner().invoke(main, ["doctor", "--data", str(missing)])
    assert done.exit_code == 2
    assert f"there is no folder {missing}: correct --data" in done.output
    assert not missing.exists()
