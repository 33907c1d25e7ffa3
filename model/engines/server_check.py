"""Test what a server behind an OpenAI-compatible API can do, and say how to add what is missing.

The test costs five sampled tokens. `openai_compatible` runs without every ability tested here.
"""

from contextlib import closing
from dataclasses import dataclass, replace

import httpx

from model.engines.connection import (
    CONNECT_SECONDS,
    DEFAULT_CONTEXT_TOKENS,
    ServedModel,
    create_client,
    get_server_root,
    probe,
)
from model.engines.openai_compatible import Endpoint, OpenAICompatible
from model.errors import EngineDown, EngineError
from model.protocols import Completion, Message, Request
from model.voting.yes_no_probability import TOP_LOGPROBS

_PATIENCE_SECONDS = 120.0
_QUESTION = (Message("user", "Say yes or no."),)
# A start that no template adds by itself, so a continued reply can be told from a new one.
_OPENED = "I say"
PROBABILITIES = "log-probabilities"
"""The only ability that some verifiers require."""

SPECIAL_TOKENS = "list of special tokens"
"""The ability on which the escaping of untrusted text rests for a model of an unknown family."""

_REMEDIES = {
    "context length": f"{DEFAULT_CONTEXT_TOKENS:,} tokens are assumed, longer prompts fail; vLLM tells its own",
    "tokenizer": "counts are estimated high, so fewer patches fit; vLLM serves /tokenize beside /v1",
    SPECIAL_TOKENS: "only those of known model families are escaped in untrusted text; "
    "start vLLM with --enable-tokenizer-info-endpoint",
    PROBABILITIES: "the yes-no verifier can't work; "
    f"start vLLM with --max-logprobs {TOP_LOGPROBS} or more",
    "continued replies": "a vote without a box can't be asked to finish; vLLM takes continue_final_message",
    "several samples of one prompt": "each vote pays for its prompt; vLLM takes n above 1",
    "adapters at run time": "a trained adapter needs a restart; "
    "start vLLM with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1",
}


UNKNOWN_SPECIAL_TOKENS = f"the model server tells no {SPECIAL_TOKENS}: {_REMEDIES[SPECIAL_TOKENS]}"
"""The warning about an engine whose special tokens are unknown."""


@dataclass(frozen=True, slots=True)
class CapabilityCheck:
    """Whether a model server has one tested ability, and how to get it."""

    name: str
    is_available: bool
    remedy: str
    """Who needs the ability and how to get it, in one line."""


@dataclass(frozen=True, slots=True)
class ServerCheck:
    """The model that a server offers, with the test results of the server's abilities."""

    served: ServedModel
    checks: tuple[CapabilityCheck, ...]

    @property
    def missing_abilities(self) -> tuple[str, ...]:
        """One line of text for each ability that the server lacks: its name, who needs it, and how to get it."""
        return tuple(
            f"no {check.name}: {check.remedy}" for check in self.checks if not check.is_available
        )


def check_server(url: str, model: str | None = None, api_key: str | None = None) -> ServerCheck:
    """Test every ability that this package uses of the model server at `url`. Five tokens are sampled.

    `model` None takes the server's only model. Raises BadEngine for a URL that is not HTTP, and EngineDown without a
    server or the model, for a refused key, and when no completion comes back.
    """
    served = probe(url, model, api_key)
    endpoint = Endpoint(
        # One attempt: a check must report a failing server, not hide it by trying again.
        url,
        served.name,
        api_key,
        served.context_tokens,
        _PATIENCE_SECONDS,
        attempts=1,
    )
    with (
        closing(OpenAICompatible(endpoint)) as engine,
        create_client(url, api_key, CONNECT_SECONDS) as client,
    ):
        abilities = {
            "context length": served.is_context_reported,
            "tokenizer": _has_tokenizer(client, served.name),
            SPECIAL_TOKENS: engine.special_tokens is not None,
            PROBABILITIES: _has_probabilities(engine),
            "continued replies": _has_prefill(engine),
            "several samples of one prompt": _has_several_samples(client, served.name),
            "adapters at run time": _has_adapters(client),
        }
    return ServerCheck(
        served,
        # Every ability is listed, present or not, so that an operator sees what was tested.
        tuple(CapabilityCheck(name, there, _REMEDIES[name]) for name, there in abilities.items()),
    )


def check_scores(url: str, model: str | None = None, api_key: str | None = None) -> ServedModel:
    """Test that the server at `url` serves a reward model, by one score, and return the model.

    `model` None takes the server's only model. Raises BadEngine and EngineDown, also when no score comes back.
    """
    served = probe(url, model, api_key)
    endpoint = Endpoint(
        url, served.name, api_key, served.context_tokens, _PATIENCE_SECONDS, attempts=1
    )
    with closing(OpenAICompatible(endpoint)) as engine:
        (answer,) = engine.score([_QUESTION])
    if isinstance(answer, EngineError):
        raise EngineDown(f"the server returns no score: {answer}") from answer
    return served


def _build_request(prefill: str | None = None, alternatives: int = 0) -> Request:
    return Request(_QUESTION, 1, 1.0, 0, prefill, alternatives)


def _has_probabilities(engine: OpenAICompatible) -> bool:
    # Two requests in one call: the plain one tells a dead server from one without log-probabilities.
    plain, detailed = engine.complete([_build_request(), _build_request(alternatives=TOP_LOGPROBS)])
    if not isinstance(plain, Completion):
        raise EngineDown(f"the server returns no completion: {plain}") from plain
    # Some servers accept `top_logprobs` and return none. Only tokens in the answer count.
    return isinstance(detailed, Completion) and bool(
        detailed.tokens and detailed.tokens[0].top_logprobs
    )


def _has_prefill(engine: OpenAICompatible) -> bool:
    """Return whether prefill works. A server without it closes the turn and opens another, so the prompt is longer."""
    closed_turn = replace(_build_request(), messages=(*_QUESTION, Message("assistant", _OPENED)))
    # The same words follow both prompts. Only a server that keeps the turn open reads fewer tokens.
    closed, opened = engine.complete([closed_turn, _build_request(prefill=_OPENED)])
    return (
        isinstance(closed, Completion)
        and isinstance(opened, Completion)
        and opened.prompt_tokens < closed.prompt_tokens
    )


def _has_several_samples(client: httpx.Client, model: str) -> bool:
    # Sent by hand, because the engine repairs a missing `n` by itself and so hides it.
    asked = {
        "model": model,
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 1,
        "n": 2,
    }
    try:
        answer = client.post("chat/completions", json=asked, timeout=_PATIENCE_SECONDS)
        # A server that ignores `n` answers 200 with one choice.
        return len(answer.json()["choices"]) > 1
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return False


def _has_adapters(client: httpx.Client) -> bool:
    """Return whether adapters can be loaded: then the path exists and accepts only POST."""
    try:
        # GET loads nothing. 405 means that the path exists, 404 that vLLM runs without runtime adapters.
        return client.get("load_lora_adapter").status_code == httpx.codes.METHOD_NOT_ALLOWED
    except httpx.HTTPError:
        return False


def _has_tokenizer(client: httpx.Client, model: str) -> bool:
    try:
        answer = client.post(
            f"{get_server_root(client)}/tokenize", json={"model": model, "prompt": "Hi"}
        )
        return int(answer.json()["count"]) > 0
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return False
