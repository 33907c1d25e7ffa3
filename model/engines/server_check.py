"""What a server behind an OpenAI-compatible API can do for us, and what to change where it can't.

Costs the server five sampled tokens. Nothing here is needed to run: `openai_compatible` does without what is missing.
"""

from contextlib import closing
from dataclasses import dataclass, replace

import httpx

from model.engines.connection import CONNECT_SECONDS, http_client, server_root
from model.engines.openai_compatible import (
    DEFAULT_CONTEXT_TOKENS,
    Endpoint,
    OpenAICompatible,
    Served,
    probe,
)
from model.errors import EngineDown
from model.protocols import Completion, Message, Request
from model.voting.yes_no_probability import ALTERNATIVES

_PATIENCE_SECONDS = 120.0
_QUESTION = (Message("user", "Say yes or no."),)
_OPENED = "I say"
PROBABILITIES = "log-probabilities"
"""The one ability that some verifiers can't do without."""

_REMEDIES = {
    "context length": f"{DEFAULT_CONTEXT_TOKENS:,} tokens are assumed, longer prompts fail; vLLM tells its own",
    "tokenizer": "counts are estimated high, so fewer patches fit; vLLM serves /tokenize beside /v1",
    PROBABILITIES: "the yes-no verifier can't work; "
    f"start vLLM with --max-logprobs {ALTERNATIVES} or more",
    "continued replies": "a vote without a box can't be asked to finish; vLLM takes continue_final_message",
    "several samples of one prompt": "each vote pays for its prompt; vLLM takes n above 1",
    "adapters at run time": "a trained adapter needs a restart; "
    "start vLLM with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One ability of a server."""

    name: str
    is_there: bool
    remedy: str
    """Who needs it, and how to get it; for a person, in one line."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What is served, and what was found out by trying."""

    served: Served
    checks: tuple[Check, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """One line for each ability that isn't there."""
        return tuple(f"no {one.name}: {one.remedy}" for one in self.checks if not one.is_there)


def examine(url: str, model: str | None = None, api_key: str | None = None) -> Examination:
    """Ask a server for each thing that some part of this package makes use of.

    Raises EngineDown like `probe`, and when no completion comes back at all.
    """
    served = probe(url, model, api_key)
    endpoint = Endpoint(
        url, served.name, api_key, served.context_tokens, _PATIENCE_SECONDS, attempts=1
    )
    with (
        closing(OpenAICompatible(endpoint)) as engine,
        http_client(url, api_key, CONNECT_SECONDS) as client,
    ):
        found = {
            "context length": served.is_context_told,
            "tokenizer": _has_tokenizer(client, served.name),
            PROBABILITIES: _tells_probabilities(engine),
            "continued replies": _continues(engine),
            "several samples of one prompt": _samples_several(client, served.name),
            "adapters at run time": _takes_adapters(client),
        }
    return Examination(
        served, tuple(Check(name, there, _REMEDIES[name]) for name, there in found.items())
    )


def _request(prefill: str | None = None, alternatives: int = 0) -> Request:
    return Request(_QUESTION, 1, 1.0, 0, prefill, alternatives)


def _tells_probabilities(engine: OpenAICompatible) -> bool:
    plain, told = engine.complete([_request(), _request(alternatives=ALTERNATIVES)])
    if not isinstance(plain, Completion):
        raise EngineDown(f"not even one token comes back: {plain}") from plain
    return isinstance(told, Completion) and bool(told.tokens and told.tokens[0].alternatives)


def _continues(engine: OpenAICompatible) -> bool:
    """A server that ignores the wish closes the turn and opens another, which makes the prompt longer."""
    closed_turn = replace(_request(), messages=(*_QUESTION, Message("assistant", _OPENED)))
    closed, opened = engine.complete([closed_turn, _request(prefill=_OPENED)])
    return (
        isinstance(closed, Completion)
        and isinstance(opened, Completion)
        and opened.prompt_tokens < closed.prompt_tokens
    )


def _samples_several(client: httpx.Client, model: str) -> bool:
    asked = {
        "model": model,
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 1,
        "n": 2,
    }
    try:
        answer = client.post("chat/completions", json=asked, timeout=_PATIENCE_SECONDS)
        return len(answer.json()["choices"]) > 1
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return False


def _takes_adapters(client: httpx.Client) -> bool:
    """The path answers posts only, and is not there at all where vLLM was not told to offer it."""
    try:
        return client.get("load_lora_adapter").status_code == httpx.codes.METHOD_NOT_ALLOWED
    except httpx.HTTPError:
        return False


def _has_tokenizer(client: httpx.Client, model: str) -> bool:
    try:
        answer = client.post(
            f"{server_root(client)}/tokenize", json={"model": model, "prompt": "Hi"}
        )
        return int(answer.json()["count"]) > 0
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return False
