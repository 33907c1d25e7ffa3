"""An engine behind an OpenAI-compatible API: vLLM above all, and whatever speaks the same.

A request is sent again only when the server cannot have billed it. Starting a server does not live here.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx

from model.errors import EngineDown, EngineError
from model.protocols import Completion, Request

DEFAULT_CONTEXT_TOKENS = 32_768
"""Assumed where the server does not tell: the context R4P was served with (its public launch scripts)."""
CONNECT_SECONDS = 5.0
COUNT_SECONDS = 10.0
_LONGEST_WAIT_SECONDS = 30.0
_REFUSED = (401, 403)
_BUSY = (429, 503)


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


def probe(url: str, model: str | None, api_key: str | None = None) -> Served:
    """What is served at `url`: the named model, or the only one when no name is given.

    Raises EngineDown with one line for a person: no server, no JSON, a refused key, or no such model.
    """
    try:
        with _client(url, api_key, CONNECT_SECONDS) as client:
            answer = client.get("models")
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise EngineDown(
            f"engine URL {url!r} is no http address ({error}); expected http://HOST:PORT/v1"
        ) from error
    except httpx.HTTPError as error:
        raise EngineDown(
            f"no engine answers at {url} ({_words(error)}); check the URL and that the server runs"
        ) from error
    if answer.status_code in _REFUSED:
        raise EngineDown(f"the engine at {url} refuses the API key (HTTP {answer.status_code})")
    try:
        offered = {str(one["id"]): one.get("max_model_len") for one in answer.json()["data"]}
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
    return Served(chosen, int(offered[chosen] or DEFAULT_CONTEXT_TOKENS))


def connect(url: str, model: str | None, api_key: str | None = None) -> "OpenAICompatible":
    """An engine for what `probe` finds. Raises EngineDown like it."""
    served = probe(url, model, api_key)
    return OpenAICompatible(Endpoint(url, served.name, api_key, served.context_tokens))


class OpenAICompatible:
    """Sends chat completions, several at once; safe to share between threads."""

    name = "openai_compatible"

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = _client(endpoint.url, endpoint.api_key, endpoint.reply_seconds)
        self._tokenizes = True
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
            root = str(self._client.base_url).rstrip("/").removesuffix("/v1")
            body = {"model": self.model, "prompt": text, "add_special_tokens": False}
            try:
                answer = self._client.post(f"{root}/tokenize", json=body, timeout=COUNT_SECONDS)
                return int(answer.json()["count"])
            except httpx.HTTPError:
                pass  # perhaps it comes back; this once the estimate will do
            except (ValueError, KeyError, TypeError):
                self._tokenizes = False
        return -(-len(text.encode(errors="replace")) // 2)

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """One answer per request, in order. Raises EngineDown when the server took none of them."""
        if not requests:
            return []
        with ThreadPoolExecutor(min(len(requests), self._endpoint.concurrency)) as pool:
            answers = list(pool.map(self._answer, requests))
        down = [answer for answer in answers if isinstance(answer, EngineDown)]
        if len(down) == len(answers):
            raise down[0]
        return answers

    def _answer(self, request: Request) -> Completion | EngineError:
        try:
            return _completion(self._sent(_body(self.model, request)))
        except EngineError as error:
            return error

    def _sent(self, body: dict[str, Any]) -> httpx.Response:
        """The server's good answer. Raises EngineDown when it was not taken, EngineError when it failed."""
        place = f"the engine at {self._endpoint.url}"
        attempt = 0
        while True:
            attempt += 1
            last = attempt >= self._endpoint.attempts
            wait = self._endpoint.pause_seconds * 2 ** (attempt - 1)
            try:
                answer = self._client.post("chat/completions", json=body)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                if last or self._stop.wait(wait):
                    raise EngineDown(f"{place} can't be reached: {_words(error)}") from error
                continue
            except httpx.HTTPError as error:
                raise EngineError(f"{place} broke off: {_words(error)}") from error
            if answer.is_success:
                return answer
            asked = _retry_after(answer)
            if answer.status_code not in _BUSY or asked is None or last or self._stop.wait(asked):
                raise _refusal(place, answer)


def _client(url: str, api_key: str | None, seconds: float) -> httpx.Client:
    return httpx.Client(
        base_url=url.rstrip("/") + "/",
        headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
        timeout=httpx.Timeout(seconds, connect=CONNECT_SECONDS),
        trust_env=False,  # the engine's address is a setting of ours; nothing else redirects code to elsewhere
    )


def _body(model: str, request: Request) -> dict[str, Any]:
    messages = [{"role": one.role, "content": one.content} for one in request.messages]
    body = {
        "model": model,
        "messages": messages,
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "n": 1,
    }
    if request.prefill is None:
        return body
    opened = {"role": "assistant", "content": request.prefill}
    # vLLM's words for going on with a turn instead of starting the next one
    return body | {
        "messages": [*messages, opened],
        "continue_final_message": True,
        "add_generation_prompt": False,
    }


def _completion(answer: httpx.Response) -> Completion:
    try:
        document = answer.json()
        choice = document["choices"][0]
        usage = document.get("usage") or {}
        details = usage.get("prompt_tokens_details") or {}
        return Completion(
            text=str(choice["message"]["content"] or ""),
            finished=choice.get("finish_reason") != "length",
            prompt_tokens=int(usage.get("prompt_tokens") or 0),
            cached_tokens=int(details.get("cached_tokens") or 0),
            completion_tokens=int(usage.get("completion_tokens") or 0),
        )
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise EngineError(
            f"the engine's answer is no chat completion: {answer.text[:80]!r}"
        ) from error


def _refusal(place: str, answer: httpx.Response) -> EngineError:
    said = " ".join(answer.text.split())[:200] or "no reason given"
    message = f"{place} answered HTTP {answer.status_code}: {said}"
    down = (*_REFUSED, 404, *_BUSY)
    return EngineDown(message) if answer.status_code in down else EngineError(message)


def _retry_after(answer: httpx.Response) -> float | None:
    """Seconds the server asks to wait; None when it does not say, or asks for more than anyone would wait."""
    try:
        seconds = float(answer.headers["Retry-After"])
    except (KeyError, ValueError):
        return None
    return seconds if 0 <= seconds <= _LONGEST_WAIT_SECONDS else None


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
