"""`--data DIR`: every command of the operator reaches the bot that `r4p up` runs on DIR."""

import json
import re
import subprocess

import pytest
import typer
from typer.testing import CliRunner

from app.cli import main
from app.operator.models_cli import main as models
from app.settings import build_plain_environment, data_folder
from app.settings.environment import read_environment
from deploy.reference.commands import list_commands
from deploy.write_reference import DOCS
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


FILES = "reads and writes files alone"
WITHOUT_DATA = {
    "r4p beat": "reads no database",
    "r4p serve": "`r4p up` starts it with the addresses of the folder",
    "r4p worker": "`r4p up` starts it with the addresses of the folder",
    "r4p verify": "judges what it is given, and stores nothing",
    "r4p test": FILES,
    "r4p index": FILES,
    "r4p evaluate": FILES,
    "r4p propose": FILES,
    "r4p report": FILES,
    "r4p config": FILES,
    "r4p environments": FILES,
    "r4p gym": FILES,
    "r4p train dataset show": FILES,
    "r4p train evaluate": FILES,
    "r4p train export-verl": FILES,
    "r4p train gym": FILES,
    "r4p train merge": FILES,
    "r4p train report": FILES,
    "r4p train run": FILES,
}
"""Commands without --data, or the beginning of their path, with the reason."""
PAGE = DOCS / "operations.md"


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


def list_paths(*, with_data):
    """The commands that have --data, or those that have not."""
    return [
        path
        for path, command in list_commands("r4p", typer.main.get_command(main))
        if any("--data" in option.opts for option in command.params) is with_data
    ]


def find_reason(path):
    words = path.split()
    starts = [" ".join(words[: end + 1]) for end in range(len(words))]
    return next((start for start in starts if start in WITHOUT_DATA), path)


def test_every_command_takes_the_folder_or_needs_no_database():
    assert {find_reason(path) for path in list_paths(with_data=False)} == WITHOUT_DATA.keys()
    assert not {find_reason(path) for path in list_paths(with_data=True)} & WITHOUT_DATA.keys()


def test_the_page_names_every_command_that_takes_the_folder():
    """A group of commands is named as a whole if all of it takes the folder."""
    named = re.search(r"This works for(.+?)\.\n", PAGE.read_text(), re.DOTALL).group(1)
    groups = [f"r4p {name}" for name in re.findall(r"`([^`]+)`", named)]
    taking, lacking = list_paths(with_data=True), list_paths(with_data=False)
    covered = {
        path for path in taking if f"{path} ".startswith(tuple(f"{group} " for group in groups))
    }
    assert set(taking) - covered == {"r4p setup", "r4p up"}
    assert not [
        path for path in lacking if f"{path} ".startswith(tuple(f"{group} " for group in groups))
    ]


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
