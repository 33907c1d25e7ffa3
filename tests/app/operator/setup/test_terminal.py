"""`r4p setup` in a terminal: the page to open elsewhere, and the address to copy back."""

import html
import json
import re
from pathlib import Path

import httpx
import pytest
import typer

from app.operator.setup import terminal
from app.settings import data_folder
from tests.github.stand_in import StandIn

ANSWERS = {"Name": "r4p-bot-2", "Organisation": "", "Public": "", "Who": "none"}


@pytest.fixture(scope="module")
def github(tmp_path_factory):
    with StandIn.start(tmp_path_factory.mktemp("github")) as standin:
        yield standin


@pytest.fixture
def setup(monkeypatch, tmp_path, github):
    """Run the command as a person who answers, opens the page and copies the address, altered by each of `changes`."""
    data = tmp_path / "data"

    def register() -> str:
        page = (data / terminal.PAGE).read_text()
        action, manifest = (
            html.unescape(re.search(rf'{name}="([^"]+)"', page)[1]) for name in ("action", "value")
        )
        shown = httpx.post(action, data={"manifest": manifest})
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', shown.text))
        form = {name: html.unescape(value) for name, value in fields.items()}
        return httpx.post(f"{github.url}/settings/apps/confirm", data=form).headers["location"]

    def run(*changes) -> tuple[int, Path]:
        addresses = []
        left = list(changes)

        def answer(question, **_options):
            if question.startswith("Copy"):
                addresses[:] = addresses or [register()]
                return left.pop(0)(addresses[0]) if left else addresses[0]
            if question.startswith("GitHub"):
                return github.url
            return next(value for name, value in ANSWERS.items() if question.startswith(name))

        monkeypatch.setattr(typer, "prompt", answer)
        return terminal.run(data), data

    return run


def test_the_app_is_stored_and_the_next_steps_are_told(setup, capsys, github):
    code, data = setup()
    assert code == 0
    settings = json.loads((data / "settings.json").read_text())["settings"]
    assert settings["R4P_INGRESS"] == "polling"
    assert data_folder.has_app(data)
    assert not (data / terminal.PAGE).exists()
    told = capsys.readouterr().out
    assert f"1. Start the bot: r4p up --data {data}" in told
    assert "2. Install the App: " in told
    assert (data / "secrets" / "webhook-secret").read_text() not in told
    assert github.violations() == []
    assert setup()[0] == 2
    assert "has an App already" in capsys.readouterr().err


WRONG = {
    "no code": lambda _: "https://github.com/",
    "a foreign state": lambda address: re.sub("state=.*", "state=x", address),
    "a bracket": lambda address: address.replace("//", "//["),
    "a letter outside ASCII": lambda address: address.replace("state=", "state=\udce4"),
    "a wrong code": lambda address: re.sub("code=[^&]*", "code=c0de", address),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_a_wrong_address_is_asked_for_again(setup, change, capsys):
    code, data = setup(change)
    told = capsys.readouterr().err
    assert code == 0
    assert data_folder.has_app(data)
    assert told.count("r4p setup: ") == 1
    assert "copy all of the browser's address" in told or "create the App again" in told


def test_wrong_addresses_end_the_setup_after_a_few_tries(setup, capsys):
    code, data = setup(*[WRONG["no code"]] * terminal.TRIES)
    assert code == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == terminal.TRIES + 1
    assert lines[-1].endswith("delete the App on GitHub, and run the command again")
    assert not data_folder.has_app(data)
    assert list(data.iterdir()) == []


def test_a_broken_folder_is_one_line_before_the_first_question(tmp_path, capsys):
    (tmp_path / "settings.json").write_text("{")
    assert terminal.run(tmp_path) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"r4p setup: {tmp_path / 'settings.json'} can't be read (")
    assert told.endswith("): correct or remove it\n")


def test_a_file_in_place_of_the_folder_is_one_line(setup, tmp_path, capsys):
    (tmp_path / "data").touch()
    assert setup()[0] == 2
    assert capsys.readouterr().err.endswith("data: File exists: name another --data\n")


@pytest.mark.parametrize("place", ["secrets", "settings.json"])
def test_an_app_that_cannot_be_stored_is_to_be_deleted_on_github(setup, tmp_path, capsys, place):
    """The file gets in the way after the first look at the folder, when GitHub has the App already."""

    def block(address):
        broken = tmp_path / "data" / place
        broken.write_text("{")
        return address

    code, data = setup(block)
    told = capsys.readouterr().err
    assert code == 2
    assert told.startswith(f"r4p setup: {data / place}")
    assert told.endswith("elete the App on GitHub, and create the App again.\n")
    assert "--data" not in told
    assert told.count("\n") == 1
