"""`r4p doctor`: checks line by line whether the bot can give verdicts with these settings, and names each fix.

It asks what workers of the queues `verify` and `agents` would ask, with their settings. It looks at the database only
if R4P_DATABASE_URL is set, and at GitHub's list of deliveries only if the App's id and key are set.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from app.operator.database_setup import describe_pauses, describe_separation
from app.operator.refused_webhooks import describe_refusals
from app.sandbox import check_sandbox
from app.settings import (
    AgentSettings,
    DatabaseSettings,
    EngineSettings,
    GitHubSettings,
    IdentitySettings,
    SuiteSettings,
    WriterSettings,
    check,
    find_mistakes,
    load,
)
from app.settings.repo_config import FILE
from model import catalog
from model.agents.agent_catalog import require_agent
from model.engines.server_check import (
    PROBABILITIES,
    CapabilityCheck,
    check_scores,
    check_server,
)
from model.environments.environment_cache import EnvironmentCache
from model.errors import EngineDown, ModelError, TemplateError, UnknownVerifier
from model.prompts.untrusted import escape_invisible
from model.sandbox import bubblewrap
from model.verifiers import judge_prompts

UNFIT = 5
"""Exit code of a command whose engine is down."""
_NEEDS_PROBABILITIES = {"yes-no", "yes-no-trajectory"}
_EMBEDDED_NEEDS = ("torch", "transformers", "accelerate", "gguf")


class Mark(StrEnum):
    """Result of one check of `r4p doctor`, at the start of its line."""

    OK = "ok"
    LESS = "less"
    """Verdicts are possible, but with less quality or at a higher price."""
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of `r4p doctor`: the result, its subject, and the present state or the fix."""

    mark: Mark
    about: str
    message: str
    """The present state, or what is missing and how to fix it."""


def run() -> int:
    """Run `r4p doctor` and print every finding. Returns exit code 0 if verdicts are possible, else UNFIT (5)."""
    check(EngineSettings, AgentSettings, IdentitySettings)
    settings = load(EngineSettings)
    lines = list(list_findings(settings))
    works = not any(line.mark is Mark.FAIL for line in lines)
    if works and catalog.has_writing_model(settings.verifier):
        lines += [_check_agents(), _check_drafts()]
    lines.append(_check_tests())
    lines += [*_check_database(), *_check_webhooks()]
    width = max(len(line.about) for line in lines)
    for line in lines:
        sys.stdout.write(
            escape_invisible(f"{line.mark:<5} {line.about:<{width}}  {line.message}") + "\n"
        )
    return UNFIT if any(line.mark is Mark.FAIL for line in lines) else 0


def list_findings(settings: EngineSettings) -> Iterator[Line]:
    """Yield the line of `r4p doctor` about the verifier in `settings`, then the lines about its engine."""
    name = settings.verifier
    try:
        catalog.check_choice(name, catalog.VotingChoice())
        parts = catalog.parse_verifier_name(name)
    except UnknownVerifier as error:
        yield Line(Mark.FAIL, "R4P_VERIFIER", f"{error}; unset it for the default")
        return
    yield Line(Mark.OK, "R4P_VERIFIER", f"{name}: {catalog.VERIFIERS[name.partition(':')[0]]}")
    if not catalog.needs_engine(name):
        yield _report_no_server(settings)
        return
    if settings.prompt is not None:
        yield _check_prompt(settings.prompt, parts)
    scores = not catalog.SCORING_VERIFIERS.isdisjoint(parts)
    match settings.engine_name:
        case "openai_compatible" if scores and settings.engine_url:
            yield _check_reward_server(settings, settings.engine_url)
        case "openai_compatible":
            yield from _check_server(
                settings, needs_probabilities=_NEEDS_PROBABILITIES & {*parts} != set()
            )
        case "scripted":
            yield _check_script(settings)
        case _ if scores:
            yield _check_reward_model(settings)
        case _:
            yield _check_embedded(settings)


def _check_prompt(prompt: str, parts: Sequence[str]) -> Line:
    """Check the operator's templates, as a worker does when it starts."""
    try:
        prompts = judge_prompts.parse_prompts(prompt, parts)
        loaded = {name: judge_prompts.load_prompt(name, prompts) for name in prompts}
    except TemplateError as error:
        return Line(Mark.FAIL, "R4P_PROMPT", str(error))
    shown = (f"{name} asks with {each.name} ({each.fingerprint})" for name, each in loaded.items())
    return Line(Mark.OK, "R4P_PROMPT", "; ".join(shown))


def _check_agents() -> Line:
    """Check whether agents can write alternatives. Verdicts need no agents."""
    settings = load(AgentSettings)
    try:
        require_agent(settings.agent, settings.repair_prompt)
    except ModelError as error:
        return Line(Mark.LESS, "agents", f"no alternatives can be written: {error}")
    if why := check_sandbox():
        return Line(Mark.LESS, "agents", f"no alternatives can be written: {why}")
    return Line(Mark.OK, "agents", f"bubblewrap isolates them: {bubblewrap.find()}")


def _check_tests() -> Line:
    """Check whether the tests of repositories can run. Verdicts need none."""
    about, settings = "tests", load(SuiteSettings)
    if settings.tests is None:
        return Line(Mark.OK, about, "off: R4P_TESTS names no folder of test environments")
    if not (names := EnvironmentCache(settings.tests).list_names()):
        fix = "build one by `r4p environments build`"
        return Line(
            Mark.LESS, about, f"R4P_TESTS {settings.tests} holds no test environment: {fix}"
        )
    if why := check_sandbox():
        return Line(Mark.LESS, about, f"none can run: {why}")
    return Line(Mark.OK, about, f"environments in {settings.tests}: {', '.join(names)}")


def _check_database() -> list[Line]:
    """Check the processes' database roles and the operator's pauses; the result is empty without a database."""
    if find_mistakes(DatabaseSettings):
        return []
    return [
        _build_line("database roles", *describe_separation()),
        _build_line("pauses", *describe_pauses()),
    ]


def _check_webhooks() -> list[Line]:
    """Check how GitHub's deliveries were answered; the result is empty without the App's id and key."""
    return [] if find_mistakes(GitHubSettings) else [_build_line("webhooks", *describe_refusals())]


def _build_line(about: str, is_good: bool, message: str) -> Line:
    return Line(Mark.OK if is_good else Mark.LESS, about, message)


def _check_drafts() -> Line:
    """Check the writer App, which opens draft pull requests. It is optional."""
    about = "draft pull requests"
    if load(IdentitySettings).writer_app_id is None:
        return Line(Mark.OK, about, "off: R4P_WRITER_APP_ID names no second App")
    if wrong := find_mistakes(WriterSettings):
        return Line(Mark.LESS, about, f"none can be opened: {'; '.join(wrong)}")
    writer = load(WriterSettings)
    message = f"App {writer.writer_app_id} opens them, if {FILE} says draft_pull_requests: true"
    return Line(Mark.OK, about, message)


def _report_no_server(settings: EngineSettings) -> Line:
    rest = "set R4P_ENGINE_URL for the verdicts of a model and for alternatives"
    if settings.engine_url:
        rest = f"R4P_ENGINE_URL {settings.engine_url} is not used"
    message = f"none is needed: the verifier uses no language model; {rest}"
    return Line(Mark.OK, "model server", message)


def _check_server(settings: EngineSettings, *, needs_probabilities: bool) -> Iterator[Line]:
    url, key = settings.engine_url, settings.engine_api_key
    if url is None:
        fix = "set it, as in http://HOST:8000/v1"
        yield Line(Mark.FAIL, "model server", f"R4P_ENGINE_URL is not set: {fix}")
        return
    sys.stderr.write(f"asking {url} for a few tokens …\n")
    try:
        report = check_server(url, settings.model, key.get_secret_value() if key else None)
    except EngineDown as error:
        fix = "check R4P_ENGINE_URL, R4P_MODEL and R4P_ENGINE_API_KEY"
        yield Line(Mark.FAIL, "model server", f"{error}; {fix}")
        return
    yield Line(Mark.OK, "model server", f"{url} answers")
    served = report.served
    yield Line(Mark.OK, "model", f"{served.name}, {served.context_tokens:,} tokens of context")
    for ability in report.checks:
        yield _describe_ability(
            ability, is_needed=needs_probabilities and ability.name == PROBABILITIES
        )


def _check_reward_server(settings: EngineSettings, url: str) -> Line:
    key = settings.engine_api_key
    try:
        served = check_scores(url, settings.model, key.get_secret_value() if key else None)
    except EngineDown as error:
        return Line(Mark.FAIL, "reward model", str(error))
    return Line(Mark.OK, "reward model", f"{url} serves {served.name}, which gives scores")


def _check_reward_model(settings: EngineSettings) -> Line:
    about, model = "reward model", settings.model or ""
    if not Path(model).is_dir():
        fix = "set it to the folder of a trained reward model, or R4P_ENGINE_URL to a vLLM that serves one"
        return Line(Mark.FAIL, about, f"R4P_MODEL is no folder ({model or 'not set'}): {fix}")
    return Line(Mark.OK, about, f"{model} scores patches in the worker, on its CPU")


def _describe_ability(check: CapabilityCheck, *, is_needed: bool) -> Line:
    if check.is_available:
        return Line(Mark.OK, check.name, "there")
    return Line(Mark.FAIL if is_needed else Mark.LESS, check.name, f"missing: {check.remedy}")


def _check_script(settings: EngineSettings) -> Line:
    script = settings.engine_script
    if script is None or not script.is_file():
        fix = "set it to a file of replies, or R4P_ENGINE_URL instead of R4P_ENGINE"
        return Line(Mark.FAIL, "script", f"R4P_ENGINE_SCRIPT is not a file ({script}): {fix}")
    return Line(Mark.LESS, "script", f"replies come from {script}: for tests only")


def _check_embedded(settings: EngineSettings) -> Line:
    if missing := [name for name in _EMBEDDED_NEEDS if find_spec(name) is None]:
        fix = "set R4P_ENGINE_URL, or R4P_VERIFIER=consensus, or pip install 'r4p-bot[local]'"
        return Line(Mark.FAIL, "embedded model", f"needs {', '.join(missing)}: {fix}")
    model = settings.model or catalog.DEFAULT_MODEL
    fix = "set R4P_ENGINE_URL for real verdicts, or unset R4P_ENGINE and R4P_MODEL to judge by consensus"
    return Line(Mark.LESS, "embedded model", f"{model} judges no better than chance: {fix}")
