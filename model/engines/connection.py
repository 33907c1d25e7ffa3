"""Connect to a model server: the HTTP client, and questions whose answers need no engine."""

from dataclasses import dataclass
from typing import Any, Final

import httpx

from model.errors import BadEngine, EngineDown
from model.prompts.special_tokens import SpecialTokens, parse_tokenizer_info

DEFAULT_CONTEXT_TOKENS = 32_768
"""Assumed when the server reports none: R4P's public launch scripts serve this context."""
CONNECT_SECONDS: Final = 5.0
REFUSED_KEY_STATUSES: Final = (401, 403)
_LONGEST_WAIT_SECONDS: Final = 30.0
_IDLE_SECONDS: Final = 2.0
"""Below vLLM's keep-alive of 5 s: the fate of a request on a closing connection would be unknown."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a server offers, with its limit for prompt and reply together."""

    name: str
    context_tokens: int
    is_context_reported: bool = True
    """False: the server does not report its context length, and DEFAULT_CONTEXT_TOKENS is assumed."""


def create_client(url: str, api_key: str | None, seconds: float) -> httpx.Client:
    """Create an HTTP client for `url`, the base URL of a model server.

    An answer may take `seconds`, and the connection CONNECT_SECONDS. `api_key` None sends no key.
    """
    return httpx.Client(
        base_url=url.rstrip("/") + "/",
        headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
        # A reply takes minutes, a connection never does: a dead host is noticed early.
        timeout=httpx.Timeout(seconds, connect=CONNECT_SECONDS),
        limits=httpx.Limits(keepalive_expiry=_IDLE_SECONDS),
        trust_env=False,  # the engine's address is a setting of ours; nothing else redirects code to elsewhere
    )


def get_server_root(client: httpx.Client) -> str:
    """Return the base URL of a client's model server, without an ending `/v1`.

    vLLM serves paths there that OpenAI lacks, such as `/tokenize`.
    """
    return str(client.base_url).rstrip("/").removesuffix("/v1")


def fetch_special_tokens(client: httpx.Client) -> SpecialTokens:
    """Ask a client's model server for its tokenizer's special tokens. None: it does not tell them, or does not answer.

    vLLM tells them if it was started with `--enable-tokenizer-info-endpoint`.
    """
    try:
        answer = client.get(
            f"{get_server_root(client)}/tokenizer_info",
            timeout=CONNECT_SECONDS,
            # Asked when an engine is loaded, long before the next request could use the connection.
            headers={"Connection": "close"},
        )
        return parse_tokenizer_info(answer.json()) if answer.is_success else None
    except (httpx.HTTPError, ValueError):
        return None


def read_retry_after(answer: httpx.Response) -> float | None:
    """Return the seconds of Retry-After; None when the header is missing or asks for more than 30 s."""
    try:
        seconds = float(answer.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if 0 <= seconds <= _LONGEST_WAIT_SECONDS else None


def explain_refused_key(answer: httpx.Response, url: str, api_key: str | None) -> str:
    """Return the error message for an answer that refuses the API key (HTTP 401, 403); "" for any other answer.

    `url` is the server's address. `api_key` is the key that was sent, or None.
    """
    if answer.status_code not in REFUSED_KEY_STATUSES:
        return ""
    return (
        f"the engine at {url} refuses the API key (HTTP {answer.status_code}): {'another' if api_key else 'none'} was given. "
        "A command reads it from --api-key-file, the bot from R4P_ENGINE_API_KEY, a training's evaluation from "
        "--api-key-file in R4P_TRAIN_EVALUATE_ARGS, its run from rollout.api_key_file and reward.api_key_file in the plan"
    )


def probe(url: str, model: str | None, api_key: str | None = None) -> ServedModel:
    """Ask the server at `url` for the name and context length of `model`, or of its only model when `model` is None.

    Raises BadEngine for a URL that is not HTTP. Raises EngineDown without a server, for invalid JSON, for a refused
    key, or when no such model exists.
    """
    try:
        with create_client(url, api_key, CONNECT_SECONDS) as client:
            answer = client.get("models")
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise BadEngine(
            f"engine URL {url!r} is no http address ({error}); expected http://HOST:PORT/v1"
        ) from error
    except httpx.HTTPError as error:
        raise EngineDown(
            f"no engine answers at {url} ({describe_error(error)}); check the URL and that the server runs"
        ) from error
    if refusal := explain_refused_key(answer, url, api_key):
        raise EngineDown(refusal)
    try:
        cards = {str(entry["id"]): entry for entry in answer.json()["data"]}
        offered = {name: _get_context_length(card, cards) for name, card in cards.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineDown(
            f"{url}/models is no list of models (HTTP {answer.status_code}); the URL usually ends in /v1"
        ) from error
    # A bot that guesses among several models would judge by an unknown one.
    names = ", ".join(offered) or "none"
    if model is None and len(offered) != 1:
        raise EngineDown(f"the engine at {url} serves {len(offered)} models ({names}); name one")
    chosen = model or next(iter(offered))
    if chosen not in offered:
        raise EngineDown(f"the engine at {url} does not serve {chosen!r}; it serves {names}")
    context = offered[chosen]
    return ServedModel(
        chosen, int(context or DEFAULT_CONTEXT_TOKENS), is_context_reported=bool(context)
    )


def _get_context_length(card: dict[str, Any], cards: dict[str, Any]) -> Any:
    """Return a model's context length; an adapter inherits that of its base. None when it is not reported."""
    base = cards.get(str(card.get("parent")), {})
    return card.get("max_model_len") or base.get("max_model_len")


def describe_error(error: Exception) -> str:
    """Return the text of a failed connection's error, or the name of its class if it has no text."""
    return str(error) or type(error).__name__
