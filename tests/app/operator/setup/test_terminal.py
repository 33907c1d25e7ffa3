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
    """Run the command as a person who answers, opens the page and copies the address, which `change` alters."""
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

    def run(change=lambda address: address) -> tuple[int, Path]:
        def answer(question, **_options):
            if question.startswith("Copy"):
                return change(register())
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


@pytest.mark.parametrize(
    "change",
    [lambda _: "https://github.com/", lambda address: re.sub("state=.*", "state=x", address)],
    ids=["no code", "a foreign state"],
)
def test_another_address_is_refused_in_one_line(setup, change, capsys):
    code, data = setup(change)
    assert code == 2
    assert "this address is not the one to which GitHub led: start again" in capsys.readouterr().err
    assert not data_folder.has_app(data)
    assert list(data.iterdir()) == []
