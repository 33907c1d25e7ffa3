"""Probe the chosen servers, exchange a manifest's code for the App, and store both in the folder of `r4p up`."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from app.github.api.app_reader import NewApp, convert_manifest
from app.github.api_call import Call, Method
from app.github.endpoints import build_endpoints
from app.github.errors import GitHubError, RateLimited, Unauthorized
from app.github.http.transport import Transport
from app.github.redaction import redact, remember
from app.operator.setup.answers import Answers, BadAnswer, ModelKind
from app.settings import data_folder
from model.engines.server_check import check_server
from model.errors import ModelError

_CODE: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")
_PROBE_SECONDS: Final = 5


class RegistrationRefused(Exception):
    """GitHub did not hand out an App. The message names the fix and holds no secret."""


def list_first_steps(answers: Answers) -> tuple[str, ...]:
    """Return what to do after the setup, one step a sentence, up to the first verdict."""
    shadow = "The bot judges them in silence (shadow mode)."
    if answers.pages_url:
        shadow += " Its pages show the verdict."
    return (
        "Open an issue in a repository of the installation, and two pull requests that say Fixes #N.",
        f"{shadow} Write /r4p verify on the issue to read the verdict there.",
        "Commit .github/r4p.yml with the lines version: 1 and mode: advisory when the bot may speak by itself.",
    )


def check_servers(answers: Answers) -> Answers:
    """Probe the chosen GitHub and model server, and return the answers with the name of the model. Raises BadAnswer."""
    _check_github(answers)
    return _check_model(answers)


def _check_github(answers: Answers) -> None:
    """Ask the chosen GitHub server who we are. Raises BadAnswer unless it answers as GitHub does: with 401."""
    transport = Transport(build_endpoints(answers.github_url), timeout=_PROBE_SECONDS)
    try:
        transport.send(Call(Method.GET, "/app"), None)
    except (Unauthorized, RateLimited):
        return
    # ValueError: a host such as xn--a, which the HTTP library cannot decode.
    except (GitHubError, ValueError) as error:
        fix = "correct its address, or let this machine reach it"
        raise BadAnswer(
            f"GitHub server {answers.github_url}: {fix} ({redact(str(error))})"
        ) from None
    finally:
        transport.close()
    raise BadAnswer(f"GitHub server {answers.github_url}: no GitHub answers there: correct it")


def _check_model(answers: Answers) -> Answers:
    if answers.model_kind is not ModelKind.SERVER:
        return answers
    remember(answers.api_key)
    try:
        report = check_server(answers.engine_url, answers.model or None, answers.api_key or None)
    except ModelError as error:
        fix = "start it, or correct its address, model or key"
        raise BadAnswer(f"model server: {redact(str(error))}: {fix}") from None
    except ValueError as error:
        fix = f"correct its address ({redact(str(error))})"
        raise BadAnswer(f"model server {answers.engine_url}: {fix}") from None
    return replace(answers, model=report.served.name)


def register(data: Path, answers: Answers, code: str) -> NewApp:
    """Exchange the code of a manifest for the App, and store it with the answers in `data`.

    The webhook's secret and the App's key go to files that only their owner may read. Raises RegistrationRefused when
    GitHub hands out no App, and OSError or BadFolder when `data` cannot store it. GitHub has the App in each case.
    """
    # GitHub has the App by then, whatever becomes of the code.
    fix = (
        "the code is valid once and for an hour: delete the App on GitHub, and create the App again"
    )
    if not _CODE.fullmatch(code):
        raise RegistrationRefused(f"GitHub sent no code: {fix}")
    transport = Transport(build_endpoints(answers.github_url))
    try:
        app = convert_manifest(transport, code)
    except GitHubError as error:
        raise RegistrationRefused(f"{redact(str(error))}: {fix}") from None
    finally:
        transport.close()
    settings = answers.list_settings() | {"R4P_APP_ID": str(app.id), "R4P_BOT_NAME": app.slug}
    secrets = {
        data_folder.KEY: app.private_key.get_secret_value(),
        "R4P_WEBHOOK_SECRET": app.webhook_secret.get_secret_value(),
    }
    if answers.pages_url:
        settings["R4P_OAUTH_CLIENT_ID"] = app.client_id
        # Without an operator, nobody may open the pages about jobs and models.
        if app.person:
            settings["R4P_OPERATORS"] = app.person
        secrets["R4P_OAUTH_CLIENT_SECRET"] = app.client_secret.get_secret_value()
    if answers.api_key:
        secrets["R4P_ENGINE_API_KEY"] = answers.api_key
    data_folder.save_settings(data, settings, secrets)
    return app


def explain_lost_app(data: Path, error: OSError | data_folder.BadFolder) -> str:
    """Say what to do when GitHub has the App and this machine could not store it."""
    if isinstance(error, data_folder.BadFolder):
        return f"{error}. Then delete the App on GitHub, and create the App again."
    return (
        f"{error.filename or data}: {error.strerror or error}. Correct the file or its folder, delete the App on GitHub,"
        " and create the App again."
    )
