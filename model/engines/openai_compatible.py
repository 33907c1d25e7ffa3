"""An engine behind an OpenAI-compatible API: vLLM above all, and whatever speaks the same.

A request is sent again only when the server cannot have billed it. What the bodies say is `chat_api`'s, what a
server can do `examine`'s. Starting a server does not live here.
"""

import math
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx

from model.engines import chat_api
from model.engines.connection import (
    CONNECT_SECONDS,
    REFUSED_KEY,
    http_client,
    refused_key,
    server_root,
)
from model.errors import BadEngine, EngineDown, EngineError, NoTools, TimedOut
from model.protocols import Completion, Request

DEFAULT_CONTEXT_TOKENS = 32_768
"""Assumed where the server does not tell: the context R4P was served with (its public launch scripts)."""
COUNT_SECONDS = 10.0
_LONGEST_WAIT_SECONDS = 30.0
_BUSY = (429, 503)
_UNWANTED = (400, 422)
"""The server read the request and did not like it; nothing was sampled."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, and how patient to be with it."""

    url: str
    """Base of the API, as in `http://127.0.0.1:8000/v1`."""
    model: str
    api_key: str | None = field(default=None, repr=False)
    context_tokens: int = DEFAULT_CONTEXT_TOKENS
    reply_seconds: float = 600.0
    """How long one reply may take; after that it is a failed request, which may have been billed."""
    concurrency: int = 16
    attempts: int = 3
    """Sendings of a request that the server did not take."""
    pause_seconds: float = 0.5
    """Before the second attempt to connect; twice that before the third."""


@dataclass(frozen=True, slots=True)
class Served:
    """A model that a server offers."""

    name: str
    context_tokens: int
    is_context_told: bool = True
    """False: the server keeps it to itself, and DEFAULT_CONTEXT_TOKENS is a guess."""


class _Unwanted(EngineError):
    """A request that the server refused as it was; it may take another one."""


def probe(url: str, model: str | None, api_key: str | None = None) -> Served:
    """What is served at `url`: the named model, or the only one when no name is given.

    Raises BadEngine for a URL that is no http address, else EngineDown with one line for a person: no server, no JSON,
    a refused key, or no such model.
    """
    try:
        with http_client(url, api_key, CONNECT_SECONDS) as client:
            answer = client.get("models")
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise BadEngine(
            f"engine URL {url!r} is no http address ({error}); expected http://HOST:PORT/v1"
        ) from error
    except httpx.HTTPError as error:
        raise EngineDown(
            f"no engine answers at {url} ({_words(error)}); check the URL and that the server runs"
        ) from error
    if refusal := refused_key(answer, url, api_key):
        raise EngineDown(refusal)
    try:
        cards = {str(one["id"]): one for one in answer.json()["data"]}
        offered = {name: _context(card, cards) for name, card in cards.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineDown(
            f"{url}/models is no list of models (HTTP {answer.status_code}); the URL ends in /v1 as a rule"
        ) from error
    names = ", ".join(offered) or "none"
    if model is None and len(offered) != 1:
        raise EngineDown(f"the engine at {url} serves {len(offered)} models ({names}); name one")
    chosen = model or next(iter(offered))
    if chosen not in offered:
        raise EngineDown(f"the engine at {url} does not serve {chosen!r}; it serves {names}")
    context = offered[chosen]
    return Served(chosen, int(context or DEFAULT_CONTEXT_TOKENS), is_context_told=bool(context))


def _context(card: dict[str, Any], cards: dict[str, Any]) -> Any:
    """Tokens that a model reads and writes; an adapter leaves that to its base. None where nobody tells."""
    base = cards.get(str(card.get("parent")), {})
    return card.get("max_model_len") or base.get("max_model_len")


def connect(url: str, model: str | None, api_key: str | None = None) -> "OpenAICompatible":
    """An engine for what `probe` finds. Raises EngineDown like it."""
    served = probe(url, model, api_key)
    return OpenAICompatible(Endpoint(url, served.name, api_key, served.context_tokens))


class OpenAICompatible:
    """Sends chat completions, several at once; safe to share between threads."""

    name = "openai_compatible"

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = http_client(endpoint.url, endpoint.api_key, endpoint.reply_seconds)
        self._tokenizes = True
        self._samples_several = True
        self._tells_ids = True
        self._stop = threading.Event()

    @property
    def model(self) -> str:
        """The server's name for the weights."""
        return self._endpoint.model

    @property
    def context_tokens(self) -> int:
        """As the server told when it was probed."""
        return self._endpoint.context_tokens

    def close(self) -> None:
        """Give the connections back; requests that wait for another attempt fail at once."""
        self._stop.set()
        self._client.close()

    def count_tokens(self, text: str) -> int:
        """By vLLM's `/tokenize` where the server has it, else one token for two bytes: more than code needs."""
        if self._tokenizes:
            body = {"model": self.model, "prompt": text, "add_special_tokens": False}
            try:
                answer = self._client.post(
                    f"{server_root(self._client)}/tokenize", json=body, timeout=COUNT_SECONDS
                )
                return int(answer.json()["count"])
            except httpx.HTTPError:
                pass  # perhaps it comes back; this once the estimate will do
            except (ValueError, KeyError, TypeError):
                self._tokenizes = False
        return -(-len(text.encode(errors="replace")) // 2)

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """One answer per request, in order; requests that differ only in the seed share one sending and its fate.

        Raises EngineDown when the server took none of them. A request's `seconds` count from now, waiting and all.
        """
        if not requests:
            return []
        now = time.monotonic()
        alone = [[at] for at in range(len(requests))]
        companies = chat_api.companies(requests) if self._samples_several else alone
        with ThreadPoolExecutor(min(len(companies), self._endpoint.concurrency)) as pool:
            parts = list(
                pool.map(lambda them: self._answers([requests[at] for at in them], now), companies)
            )
        pairs = (zip(them, part, strict=True) for them, part in zip(companies, parts, strict=True))
        found = dict(pair for one in pairs for pair in one)
        answers = [found[at] for at in range(len(requests))]
        down = [answer for answer in answers if isinstance(answer, EngineDown)]
        if len(down) == len(answers):
            raise down[0]
        return answers

    def _answers(self, company: list[Request], asked: float) -> list[Completion | EngineError]:
        """Of requests that differ only in the seed; what a server leaves out of an `n` is asked for one by one."""
        until = asked + (math.inf if company[0].seconds is None else company[0].seconds)
        try:
            answer = self._sent(
                chat_api.body(self.model, company, token_ids=self._tells_ids), until
            )
            found: list[Completion | EngineError] = [*_completions(answer)[: len(company)]]
        except _Unwanted as error:
            if len(company) == 1:
                return self._refused(company[0], error, asked)
            found = []
        except EngineError as error:
            return [error] * len(company)
        left = [one for request in company[len(found) :] for one in self._answers([request], asked)]
        if any(isinstance(one, Completion) for one in left):
            self._samples_several = False
        return found + left

    def _refused(
        self, request: Request, error: _Unwanted, asked: float
    ) -> list[Completion | EngineError]:
        """What a refusal means: a server that can't tell ids is asked without, one may have no tools."""
        said = str(error).lower()
        if request.token_ids and self._tells_ids and "return_token_ids" in said:
            self._tells_ids = False
            return self._answers([request], asked)
        return [NoTools(str(error)) if request.tools and "tool" in said else error]

    def _sent(self, body: dict[str, Any], until: float) -> httpx.Response:
        """The server's good answer. Raises EngineDown when it was not taken, EngineError when it failed.

        Raises TimedOut at `until`.
        """
        place = f"the engine at {self._endpoint.url}"
        attempt = 0
        while True:
            attempt += 1
            left = until - time.monotonic()
            if left <= 0:
                raise TimedOut(f"{place} was not ready in time")
            last = attempt >= self._endpoint.attempts
            wait = min(left, self._endpoint.pause_seconds * 2 ** (attempt - 1))
            try:
                answer = self._client.post(
                    "chat/completions", json=body, timeout=self._patience(left)
                )
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if last or self._stop.wait(wait):
                    raise EngineDown(f"{place} can't be reached: {_words(error)}") from error
                continue
            except httpx.HTTPError as error:
                kind = TimedOut if time.monotonic() >= until else EngineError
                raise kind(f"{place} broke off: {_words(error)}") from error
            if answer.is_success:
                return answer
            asked = _retry_after(answer)
            if answer.status_code not in _BUSY or asked is None or last:
                raise _refusal(place, answer)
            if self._stop.wait(min(left, asked)):
                raise _refusal(place, answer)

    def _patience(self, left: float) -> httpx.Timeout:
        return httpx.Timeout(
            min(left, self._endpoint.reply_seconds), connect=min(left, CONNECT_SECONDS)
        )


def _completions(answer: httpx.Response) -> list[Completion]:
    try:
        return chat_api.completions(answer.json())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(
            f"the engine's answer is no chat completion: {answer.text[:80]!r}"
        ) from error


def _refusal(place: str, answer: httpx.Response) -> EngineError:
    said = " ".join(answer.text.split())[:200] or "no reason given"
    message = f"{place} answered HTTP {answer.status_code}: {said}"
    down = (*REFUSED_KEY, 404, *_BUSY)
    if answer.status_code in down:
        return EngineDown(message)
    return _Unwanted(message) if answer.status_code in _UNWANTED else EngineError(message)


def _retry_after(answer: httpx.Response) -> float | None:
    """Seconds the server asks to wait; None when it does not say, or asks for more than anyone would wait."""
    try:
        seconds = float(answer.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if 0 <= seconds <= _LONGEST_WAIT_SECONDS else None


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
