"""`r4p doctor`: whether verdicts can be had under these settings, line by line, and how to mend what is missing.

It asks what the workers of the queues `verify` and `agents` would ask, with their settings, and needs no database.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec

from app import bubblewrap
from app.sandbox import trouble
from app.settings import (
    AgentSettings,
    EngineSettings,
    IdentitySettings,
    WriterSettings,
    load,
    mistakes,
)
from app.settings.repo_config import FILE
from app.settings.sandbox_kind import Sandbox
from model import catalog
from model.engines.server_check import PROBABILITIES, Check, examine
from model.errors import EngineDown, UnknownVerifier
from model.prompts.untrusted import visible

UNFIT = 5
"""The exit code that the command line has for an engine that is down."""
_NEEDS_PROBABILITIES = {"yes-no", "yes-no-trajectory"}
_EMBEDDED_NEEDS = ("torch", "transformers", "accelerate", "gguf")


class Mark(StrEnum):
    """How a line begins."""

    OK = "ok"
    LESS = "less"
    """Verdicts can be had, with less or at a higher price."""
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Line:
    """One finding."""

    mark: Mark
    about: str
    said: str
    """What is there, or what is missing and the fix."""


def run() -> int:
    """Print every finding. 0: verdicts can be had, UNFIT: they can't."""
    settings = load(EngineSettings)
    lines = list(findings(settings))
    works = not any(line.mark is Mark.FAIL for line in lines)
    if works and settings.verifier not in catalog.WITHOUT_ENGINE:
        lines += [_shut_in(load(AgentSettings).agent_sandbox), _drafts()]
    width = max(len(line.about) for line in lines)
    for line in lines:
        sys.stdout.write(visible(f"{line.mark:<5} {line.about:<{width}}  {line.said}") + "\n")
    return UNFIT if any(line.mark is Mark.FAIL for line in lines) else 0


def findings(settings: EngineSettings) -> Iterator[Line]:
    """Who judges, then what that one stands on."""
    name = settings.verifier
    try:
        parts = catalog.composition(name)
    except UnknownVerifier as error:
        yield Line(Mark.FAIL, "R4P_VERIFIER", f"{error}; the default is r4p")
        return
    yield Line(Mark.OK, "R4P_VERIFIER", f"{name}: {catalog.VERIFIERS[name.partition(':')[0]]}")
    if name in catalog.WITHOUT_ENGINE:
        yield _no_server(settings)
        return
    match settings.chosen:
        case "openai_compatible":
            yield from _server(
                settings, needs_probabilities=_NEEDS_PROBABILITIES & {*parts} != set()
            )
        case "scripted":
            yield _script(settings)
        case _:
            yield _embedded(settings)


def _shut_in(sandbox: Sandbox) -> Line:
    """Whether agents can write alternatives; without them there are verdicts all the same."""
    if why := trouble(sandbox):
        return Line(Mark.LESS, "agents", f"no alternatives can be written: {why}")
    if sandbox is Sandbox.CONTAINER:
        said = "an empty environment is all that shuts them in: their worker's container must hold no secret and reach the model only"
        return Line(Mark.LESS, "agents", said)
    return Line(Mark.OK, "agents", f"bubblewrap shuts them in: {bubblewrap.find()}")


def _drafts() -> Line:
    """Whether there is a second App to open draft pull requests as; nobody needs one."""
    about = "draft pull requests"
    if load(IdentitySettings).writer_app_id is None:
        return Line(Mark.OK, about, "off: R4P_WRITER_APP_ID names no second App")
    if wrong := mistakes(WriterSettings):
        return Line(Mark.LESS, about, f"none can be opened: {'; '.join(wrong)}")
    writer = load(WriterSettings)
    said = f"App {writer.writer_app_id} opens them, where {FILE} says draft_pull_requests: true"
    return Line(Mark.OK, about, said)


def _no_server(settings: EngineSettings) -> Line:
    unused = f"; R4P_ENGINE_URL {settings.engine_url} is not asked" if settings.engine_url else ""
    return Line(Mark.OK, "model server", f"none is needed: no language model is asked{unused}")


def _server(settings: EngineSettings, *, needs_probabilities: bool) -> Iterator[Line]:
    url, key = settings.engine_url, settings.engine_api_key
    if url is None:
        fix = "set it, as in http://HOST:8000/v1"
        yield Line(Mark.FAIL, "model server", f"R4P_ENGINE_URL is not set: {fix}")
        return
    sys.stderr.write(f"asking {url} for a few tokens …\n")
    try:
        found = examine(url, settings.model, key.get_secret_value() if key else None)
    except EngineDown as error:
        fix = "R4P_ENGINE_URL, R4P_MODEL and R4P_ENGINE_API_KEY say which server, model and key"
        yield Line(Mark.FAIL, "model server", f"{error}; {fix}")
        return
    yield Line(Mark.OK, "model server", f"{url} answers")
    served = found.served
    yield Line(Mark.OK, "model", f"{served.name}, {served.context_tokens:,} tokens of context")
    for check in found.checks:
        yield _ability(check, is_needed=needs_probabilities and check.name == PROBABILITIES)


def _ability(check: Check, *, is_needed: bool) -> Line:
    if check.is_there:
        return Line(Mark.OK, check.name, "there")
    return Line(Mark.FAIL if is_needed else Mark.LESS, check.name, f"missing: {check.remedy}")


def _script(settings: EngineSettings) -> Line:
    script = settings.engine_script
    if script is None or not script.is_file():
        fix = "set it to a file of replies, or R4P_ENGINE_URL instead of R4P_ENGINE"
        return Line(Mark.FAIL, "script", f"R4P_ENGINE_SCRIPT is no file ({script}): {fix}")
    return Line(Mark.LESS, "script", f"replies come from {script}: for tests only")


def _embedded(settings: EngineSettings) -> Line:
    if missing := [name for name in _EMBEDDED_NEEDS if find_spec(name) is None]:
        fix = "set R4P_ENGINE_URL, or R4P_VERIFIER=consensus, or pip install 'r4p-bot[local]'"
        return Line(Mark.FAIL, "embedded model", f"needs {', '.join(missing)}: {fix}")
    model = settings.model or catalog.DEFAULT_MODEL
    fix = "set R4P_ENGINE_URL for real ones, or R4P_VERIFIER=consensus to do without a model"
    return Line(Mark.LESS, "embedded model", f"{model} judges no better than chance: {fix}")
