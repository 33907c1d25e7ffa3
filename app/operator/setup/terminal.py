"""`r4p setup`: the setup in a terminal, for a machine that no browser reaches.

It writes a small page to open in any browser, and takes the address to which GitHub leads that browser.
"""

import html
import json
import os
import sys
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import typer

from app.operator.setup import registration
from app.operator.setup.access import SetupAccess
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

PAGE: Final = "create-app.html"
_REDIRECT: Final = "http://localhost:8000/setup/callback"
"""Where GitHub leads the browser. Nothing need listen there: the address holds the code."""
_HTML: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Create the App</title>
<h1>Create {name} on GitHub</h1>
<form method="post" action="{action}"><input type="hidden" name="manifest" value="{manifest}">
<button>Create the App</button></form></html>
"""


def run(data: Path) -> int:
    """Ask for the answers, let GitHub register the App, and store it in `data`. Returns the exit code."""
    if data_folder.has_app(data):
        sys.stderr.write(
            f"r4p setup: {data} has an App already: start it by r4p up --data {data}\n"
        )
        return USAGE
    try:
        answers = registration.check_servers(parse_answers(_ask()))
        app = registration.register(data, answers, _ask_for_code(data, answers))
    except (BadAnswer, RegistrationRefused) as error:
        sys.stderr.write(f"r4p setup: {error}\n")
        return USAGE
    except OSError as error:
        sys.stderr.write(
            f"r4p setup: {error.filename or data}: {error.strerror}: name another --data\n"
        )
        return USAGE
    finally:
        (data / PAGE).unlink(missing_ok=True)
    steps = (
        f"Start the bot: r4p up --data {data}",
        f"Install the App: {app.url}/installations/new",
        *registration.FIRST_VERDICT,
    )
    lines = [f"{number}. {step}" for number, step in enumerate(steps, 1)]
    sys.stdout.write("\n".join([f"{app.slug} ({app.id}) is stored in {data}.", *lines]) + "\n")
    return 0


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


def _ask_for_code(data: Path, answers: Answers) -> str:
    """Let the operator open the page with the manifest; return the code that GitHub gave. Raises RegistrationRefused."""
    access = SetupAccess()
    action = f"{answers.registration_url}?state={access.create_state()}"
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
    query = parse_qs(
        urlsplit(typer.prompt("Copy that address here", hide_input=True).strip()).query
    )
    code, state = (str(query.get(name, [""])[0]) for name in ("code", "state"))
    if not code or not access.spend_state(state):
        raise RegistrationRefused("this address is not the one to which GitHub led: start again")
    return code
