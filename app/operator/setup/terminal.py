"""`r4p setup`: the setup in a terminal, for a machine that no browser reaches.

It writes a small page to open in any browser, and takes the address to which GitHub leads that browser.
"""

import html
import json
import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import typer

from app.github.api.app_reader import NewApp
from app.operator.setup import registration
from app.operator.setup.answers import (
    GITHUB,
    Answers,
    BadAnswer,
    ModelKind,
    parse_answers,
    suggest_name,
)
from app.operator.setup.registration import RegistrationRefused
from app.settings import USAGE, data_folder
from app.settings.data_folder import BadFolder

PAGE: Final = "create-app.html"
_REDIRECT: Final = "http://localhost:8000/setup/callback"
"""Where GitHub leads the browser. Nothing need listen there: the address holds the code."""
TRIES: Final = 5
"""How often the address is asked for."""
_HTML: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Create the App</title>
<h1>Create {name} on GitHub</h1>
<form method="post" action="{action}"><input type="hidden" name="manifest" value="{manifest}">
<button>Create the App</button></form></html>
"""


def run(data: Path) -> int:
    """Ask for the answers, let GitHub register the App, and store it in `data`. Returns the exit code."""
    try:
        _refuse_second_app(data)
        answers = registration.check_servers(parse_answers(_ask()))
        app = _register(data, answers)
    except (BadAnswer, BadFolder, RegistrationRefused) as error:
        sys.stderr.write(f"r4p setup: {error}\n")
        return USAGE
    except OSError as error:
        sys.stderr.write(
            f"r4p setup: {error.filename or data}: {error.strerror or error}: name another --data\n"
        )
        return USAGE
    finally:
        with suppress(OSError):
            (data / PAGE).unlink(missing_ok=True)
    steps = (
        f"Start the bot: r4p up --data {data}",
        f"Install the App: {app.url}/installations/new",
        *registration.list_first_steps(answers),
    )
    lines = [f"{number}. {step}" for number, step in enumerate(steps, 1)]
    sys.stdout.write("\n".join([f"{app.slug} ({app.id}) is stored in {data}.", *lines]) + "\n")
    return 0


def _refuse_second_app(data: Path) -> None:
    if data_folder.has_app(data):
        raise RegistrationRefused(f"{data} has an App already: start it by r4p up --data {data}")


def _ask() -> dict[str, str]:
    form = {
        "name": typer.prompt("Name of the App", default=suggest_name()),
        "organisation": typer.prompt("Organisation (empty: your account)", default=""),
        "github_url": typer.prompt("GitHub server", default=GITHUB),
        "public_url": typer.prompt("Public https address of the bot (empty: poll)", default=""),
        "model_kind": typer.prompt(f"Who judges ({', '.join(ModelKind)})", default="none"),
    }
    if form["model_kind"].strip() == ModelKind.SERVER:
        form["engine_url"] = typer.prompt("Address of the model server, as in http://gpu:8000/v1")
        form["model"] = typer.prompt("Model (empty: its only one)", default="")
        form["api_key"] = typer.prompt("Key (empty: none)", default="", hide_input=True)
    return form


def _register(data: Path, answers: Answers) -> NewApp:
    """Let the operator create the App on GitHub, and store it in `data`.

    A wrong address is asked for again, because the App exists on GitHub by then. Raises RegistrationRefused after
    TRIES wrong addresses and when `data` cannot store the App, and OSError when `data` cannot hold the page.
    """
    # The state stays valid after a refused code, so that the page can create the App again.
    state = secrets.token_urlsafe(24)
    _write_page(data, answers, state)
    for _ in range(TRIES):
        address = typer.prompt("Copy that address here", hide_input=True)
        try:
            return registration.register(data, answers, _read_code(address, state))
        except RegistrationRefused as error:
            sys.stderr.write(f"r4p setup: {error}\n")
        except (OSError, BadFolder) as error:
            raise RegistrationRefused(registration.explain_lost_app(data, error)) from None
    fix = "delete the App on GitHub, and run the command again"
    raise RegistrationRefused(f"{TRIES} addresses without a valid code: {fix}")


def _write_page(data: Path, answers: Answers, state: str) -> None:
    """Write the page whose form creates the App, and tell the operator what to do with it."""
    action = f"{answers.registration_url}?state={state}"
    manifest = json.dumps(answers.build_manifest(_REDIRECT))
    page = _HTML.format(
        name=html.escape(answers.name), action=html.escape(action), manifest=html.escape(manifest)
    )
    data.mkdir(parents=True, exist_ok=True)
    file = data / PAGE
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
        opened.write(page)
    sys.stdout.write(
        f"Open {file.resolve()} in any browser, on this machine or another, and create the App.\n"
        "GitHub then leads the browser to an address that begins with "
        f"{_REDIRECT}. The page need not load.\n"
    )


def _read_code(address: str, state: str) -> str:
    """Return the code that GitHub added to the address. Raises RegistrationRefused for any other address."""
    fix = f"copy all of the browser's address, from {_REDIRECT}?code= to the end"
    try:
        query = parse_qs(urlsplit(address.strip()).query)
    except ValueError:
        raise RegistrationRefused(f"this is not an address: {fix}") from None
    code, given = (query.get(name, [""])[0] for name in ("code", "state"))
    if not code or given != state:
        raise RegistrationRefused(f"this is not the address to which GitHub led: {fix}")
    return code
