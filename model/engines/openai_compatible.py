"""An engine behind an OpenAI-compatible API, above all vLLM. It does not start the server.

A sample is repeated only when the server cannot have billed it. `chat_api` defines the bodies, `server_check`
tests a server's abilities.
"""

import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from model.engines import chat_api, connection
from model.errors import EngineDown, EngineError, EngineTimeout, NoTools
from model.prompts.special_tokens import SpecialTokens
from model.protocols import Completion, Message, RawScore, Request

Item = TypeVar("Item")
Answer = TypeVar("Answer")

COUNT_SECONDS = 10.0
_BUSY = (429, 503)
_REFUSED_STATUSES = (400, 422)
"""The server read the request and refused it; it sampled nothing."""
_NO_SCORES = (
    "the verifier reward-model needs a vLLM that serves a merged reward model (r4p train merge)"
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model server's address, model and API key, with the limits for its requests."""

    url: str
    """Base URL of the API, as in `http://127.0.0.1:8000/v1`."""
    model: str
    api_key: str | None = field(default=None, repr=False)
    context_tokens: int = connection.DEFAULT_CONTEXT_TOKENS
    reply_seconds: float = 600.0
    """Time limit of one reply. A later reply is a failed request that may have been billed."""
    concurrency: int = 16
    attempts: int = 3
    """Attempts for a request that the server did not accept."""
    pause_seconds: float = 0.5
    """Pause before the second attempt to connect. It doubles each time."""


class _RequestRefused(EngineError):
    """The server refused this request as it was. It may accept another form."""


def connect(url: str, model: str | None, api_key: str | None = None) -> "OpenAICompatible":
    """Build an engine for `model`, or the only model, of the server at `url`. Raises BadEngine and EngineDown."""
    served = connection.probe(url, model, api_key)
    return OpenAICompatible(Endpoint(url, served.name, api_key, served.context_tokens))


class OpenAICompatible:
    """Engine that sends chat completions, several at once. Threads may share it."""

    name = "openai_compatible"

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = connection.create_client(
            endpoint.url, endpoint.api_key, endpoint.reply_seconds
        )
        # Abilities are assumed until the server shows that it lacks one. A check at the start would cost tokens.
        self._tokenizes = True
        self._samples_several = True
        self._returns_ids = True
        self._special_tokens: SpecialTokens = None
        self._stop = threading.Event()

    @property
    def model(self) -> str:
        """The name of the model on the server."""
        return self._endpoint.model

    @property
    def context_tokens(self) -> int:
        """The limit for prompt and reply together, in tokens: the server's, or DEFAULT_CONTEXT_TOKENS."""
        return self._endpoint.context_tokens

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens that the server tells. None: unknown, and the next use asks the server again."""
        if self._special_tokens is None:
            self._special_tokens = connection.fetch_special_tokens(self._client)
        return self._special_tokens

    def close(self) -> None:
        """Close the connections to the server. Requests that wait for another attempt fail at once."""
        self._stop.set()
        self._client.close()

    def count_tokens(self, text: str) -> int:
        """Count the tokens of `text` by vLLM's `/tokenize`. Without it, assume one per two bytes: too many for code."""
        if self._tokenizes:
            body = {"model": self.model, "prompt": text, "add_special_tokens": False}
            try:
                answer = self._client.post(
                    f"{connection.get_server_root(self._client)}/tokenize",
                    json=body,
                    timeout=COUNT_SECONDS,
                )
                return int(answer.json()["count"])
            except httpx.HTTPError:
                pass  # the server may recover, so only this count is estimated
            # An answer that is no count: this server has no `/tokenize`, so it is never asked again.
            except (ValueError, KeyError, TypeError):
                self._tokenizes = False
        # Too high is safe: a patch may be left out, but no prompt overflows the context.
        return -(-len(text.encode(errors="replace")) // 2)

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return one completion or error per request, in order. `Request.seconds` includes all waiting.

        Requests that differ only in the seed succeed or fail together. Raises EngineDown when the server accepted none.
        """
        if not requests:
            return []
        now = time.monotonic()  # deadlines include the time in the pool's queue
        single = [[index] for index in range(len(requests))]
        groups = chat_api.group_by_prompt(requests) if self._samples_several else single
        parts = self._ask_together(
            lambda samples: self._answer(samples, now),
            [[requests[index] for index in group] for group in groups],
        )
        pairs = (zip(group, part, strict=True) for group, part in zip(groups, parts, strict=True))
        by_index = dict(pair for part_pairs in pairs for pair in part_pairs)
        answers = [by_index[index] for index in range(len(requests))]
        return _require_one_answer(answers)

    def score(self, prompts: Sequence[tuple[Message, ...]]) -> list[RawScore | EngineError]:
        """Return the reward model's score of each prompt or an error, in order, by vLLM's `/classify`.

        The score of a head of two labels is the second number minus the first. Raises EngineDown when the server
        accepted none, serves no scores, or serves a head of more labels.
        """
        return _require_one_answer(self._ask_together(self._score, prompts)) if prompts else []

    def _score(self, prompt: tuple[Message, ...]) -> RawScore | EngineError:
        body = chat_api.build_scored_body(self.model, prompt)
        try:
            # `/classify` lies beside `/v1`; an absolute URL replaces the client's base.
            answer = self._send(f"{connection.get_server_root(self._client)}/classify", body)
        except EngineDown as error:
            return EngineDown(f"{error}; {_NO_SCORES}")
        except EngineError as error:
            return error
        try:
            values, tokens = chat_api.parse_scores(answer.json())
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EngineDown(
                f"the engine's answer is no score: {answer.text[:80]!r}; {_NO_SCORES}"
            ) from error
        match values:
            case [value]:
                return RawScore(value, tokens)
            case [wrong, right]:
                # the sigmoid of the difference is the softmax's probability of the second label
                return RawScore(right - wrong, tokens)
        return EngineDown(
            f"{self.model} has a head of {len(values)} labels, not one or two; {_NO_SCORES}"
        )

    def _ask_together(self, ask: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        # The server batches what arrives together, so the pool sends as much as it may hold.
        with ThreadPoolExecutor(min(len(items), self._endpoint.concurrency)) as pool:
            # In the caller's context, so that log lines name its job.
            calls = [(copy_context(), item) for item in items]
            return list(pool.map(lambda call: call[0].run(ask, call[1]), calls))

    def _answer(self, samples: list[Request], start: float) -> list[Completion | EngineError]:
        """Answer requests that differ only in the seed. Samples missing from an `n` are requested one by one."""
        until = start + (math.inf if samples[0].seconds is None else samples[0].seconds)
        with_ids = self._returns_ids  # as sent: another thread may change it before the answer
        try:
            body = chat_api.build_body(self.model, samples, token_ids=with_ids)
            answer = self._send("chat/completions", body, until)
            answers: list[Completion | EngineError] = [*_decode_answer(answer)[: len(samples)]]
        except _RequestRefused as error:
            # A refused batch may be refused for its `n`. Each sample then gets its own request.
            if len(samples) == 1:
                if samples[0].token_ids and with_ids and "return_token_ids" in str(error):
                    self._returns_ids = False
                    return self._answer(samples, start)
                return [_explain_refusal(samples[0], error)]
            answers = []
        except EngineError as error:
            return [error] * len(samples)
        missing = [
            late for request in samples[len(answers) :] for late in self._answer([request], start)
        ]
        if any(isinstance(late, Completion) for late in missing):
            self._samples_several = False  # this server ignores or refuses `n`; stop asking for it
        return answers + missing

    def _send(self, path: str, body: dict[str, Any], until: float = math.inf) -> httpx.Response:
        """Return the successful HTTP answer of a request to `path`, which samples or scores.

        Raises EngineDown when the server did not accept it, EngineError when it failed, EngineTimeout at `until`.
        """
        place = f"the engine at {self._endpoint.url}"
        attempt = 0
        while True:
            attempt += 1
            left = until - time.monotonic()
            if left <= 0:
                raise EngineTimeout(f"{place} was not ready before the deadline")
            last = attempt >= self._endpoint.attempts
            wait = min(left, self._endpoint.pause_seconds * 2 ** (attempt - 1))
            try:
                answer = self._client.post(path, json=body, timeout=self._build_timeout(left))
            except (
                httpx.ConnectError,
                httpx.ConnectTimeout,
            ) as error:  # nothing was sent, nothing billed
                if last or self._stop.wait(wait):
                    raise EngineDown(
                        f"{place} can't be reached: {connection.describe_error(error)}"
                    ) from error
                continue
            except httpx.HTTPError as error:  # the request may have been billed: never repeat it
                kind = EngineTimeout if time.monotonic() >= until else EngineError
                raise kind(
                    f"{place} closed the connection: {connection.describe_error(error)}"
                ) from error
            if answer.is_success:
                return answer
            # a busy server that names a time has not taken the request
            retry_after = connection.read_retry_after(answer)
            if answer.status_code not in _BUSY or retry_after is None or last:
                raise _build_status_error(place, answer)
            # An event instead of a sleep, so that closing the engine ends the wait.
            if self._stop.wait(min(left, retry_after)):
                raise _build_status_error(place, answer)

    def _build_timeout(self, left: float) -> httpx.Timeout:
        return httpx.Timeout(
            min(left, self._endpoint.reply_seconds), connect=min(left, connection.CONNECT_SECONDS)
        )


def _require_one_answer(answers: list[Answer]) -> list[Answer]:
    """Return `answers`, or raise the first EngineDown if every answer is such an error.

    One answer proves that the server lives. Then the rest are failed votes, which count as unknown.
    """
    down = [answer for answer in answers if isinstance(answer, EngineDown)]
    if down and len(down) == len(answers):
        raise down[0]
    return answers


def _decode_answer(answer: httpx.Response) -> list[Completion]:
    try:
        return chat_api.parse_completions(answer.json())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(
            f"the engine's answer is no chat completion: {answer.text[:80]!r}"
        ) from error


def _build_status_error(place: str, answer: httpx.Response) -> EngineError:
    reason = " ".join(answer.text.split())[:200] or "no reason given"
    message = f"{place} answered HTTP {answer.status_code}: {reason}"
    # 404 comes from a wrong path or from a model that was unloaded: no later request will do better.
    down = (*connection.REFUSED_KEY_STATUSES, 404, *_BUSY)
    if answer.status_code in down:
        return EngineDown(message)
    return (
        _RequestRefused(message)
        if answer.status_code in _REFUSED_STATUSES
        else EngineError(message)
    )


def _explain_refusal(request: Request, error: _RequestRefused) -> EngineError:
    """Return NoTools for a refusal that names tools, and any other refusal as it is."""
    named = request.tools and "tool" in str(error).lower()
    return NoTools(str(error)) if named else error
