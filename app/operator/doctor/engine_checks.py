"""`r4p doctor` on the verifier and its model: what a worker of the queue `verify` would ask, with its settings."""

import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from app.operator.doctor.finding import Line, Mark
from app.settings import (
    EngineSettings,
)
from model import catalog
from model.engines.server_check import (
    PROBABILITIES,
    CapabilityCheck,
    check_scores,
    check_server,
)
from model.errors import EngineDown, TemplateError, UnknownVerifier
from model.verifiers import judge_prompts

_NEEDS_PROBABILITIES = {"yes-no", "yes-no-trajectory"}
_EMBEDDED_NEEDS = ("torch", "transformers", "accelerate", "gguf")


def check_engine(settings: EngineSettings) -> Iterator[Line]:
    """Yield the line of `r4p doctor` about the verifier in `settings`, then the lines about its engine."""
    name = settings.verifier
    try:
        catalog.check_choice(name, catalog.VotingChoice())
        parts = catalog.parse_verifier_name(name)
    except UnknownVerifier as error:
        yield Line(Mark.FAIL, "R4P_VERIFIER", str(error), "unset it for the default")
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
        yield Line(Mark.FAIL, "model server", "R4P_ENGINE_URL is not set", fix)
        return
    sys.stderr.write(f"asking {url} for a few tokens …\n")
    try:
        report = check_server(url, settings.model, key.get_secret_value() if key else None)
    except EngineDown as error:
        fix = "check R4P_ENGINE_URL, R4P_MODEL and R4P_ENGINE_API_KEY"
        yield Line(Mark.FAIL, "model server", f"{error}", fix)
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
        return Line(Mark.FAIL, about, f"R4P_MODEL is no folder ({model or 'not set'})", fix)
    return Line(Mark.OK, about, f"{model} scores patches in the worker, on its CPU")


def _describe_ability(check: CapabilityCheck, *, is_needed: bool) -> Line:
    if check.is_available:
        return Line(Mark.OK, check.name, "there")
    return Line(Mark.FAIL if is_needed else Mark.LESS, check.name, "missing", check.remedy)


def _check_script(settings: EngineSettings) -> Line:
    script = settings.engine_script
    if script is None or not script.is_file():
        fix = "set it to a file of replies, or R4P_ENGINE_URL instead of R4P_ENGINE"
        return Line(Mark.FAIL, "script", f"R4P_ENGINE_SCRIPT is not a file ({script})", fix)
    return Line(Mark.LESS, "script", f"replies come from {script}: for tests only")


def _check_embedded(settings: EngineSettings) -> Line:
    if missing := [name for name in _EMBEDDED_NEEDS if find_spec(name) is None]:
        fix = "set R4P_ENGINE_URL, or R4P_VERIFIER=consensus, or pip install 'r4p-bot[local]'"
        return Line(Mark.FAIL, "embedded model", f"needs {', '.join(missing)}", fix)
    model = settings.model or catalog.DEFAULT_MODEL
    fix = "set R4P_ENGINE_URL for real verdicts, or unset R4P_ENGINE and R4P_MODEL to judge by consensus"
    return Line(Mark.LESS, "embedded model", f"{model} judges no better than chance", fix)
