"""Answer an untrusted process's requests to the language model within fixed limits."""

import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import asdict, replace
from types import TracebackType
from typing import Final, Self

from model.agents.process.messages import encode_message
from model.engines.pipe_engine import (
    CompletionQuestion,
    Failure,
    PipeAnswer,
    Question,
    Reply,
    TokenCountQuestion,
    answer_question,
    encode_failure,
)
from model.errors import EngineError
from model.protocols import Completion, Engine, Request
from model.sandbox.sandboxed_process import SandboxedProcess

_TOGETHER: Final = 8
"""Most requests that wait for an answer at one time, and most parallel attempts."""
_REPLIES: Final = 200
"""Most replies that one attempt may ask for."""
_BATCH: Final = 64
"""Most completions of one request."""
_COUNTS: Final = 2_000
"""Most token counts that one attempt may ask for."""
_LONGEST_TOKEN: Final = 16
"""Bytes per token. A text too long for the context by this measure is not sent to the engine."""
_USED_UP: Final = "tokens that this work may cost are used up"
"""Ends the message that stops an attempt."""


class LimitExceeded(Exception):
    """An agent's process asked the engine for more than any agent needs; the message names the limit."""


class MeteredEngine:
    """An engine with a token limit, for all attempts of one agent process. Threads may share it.

    Prompt tokens that the engine had cached do not count against the limit.
    """

    def __init__(self, engine: Engine, tokens: int, attempts: int) -> None:
        self._engine, self._tokens, self._attempts = engine, tokens, attempts
        self._lock = threading.Lock()
        self._reserved = self._asked = self._counted = self._late = self._new = 0
        self.is_exhausted = False
        """True when a request was refused because it could have exceeded the token limit."""
        self.used_tokens = 0
        """Tokens that were read and sampled so far."""
        self.on_time_tokens = 0
        """The part of `used_tokens` whose answers came in time: the attempts' records must account for it."""

    @property
    def token_cost(self) -> int:
        """Return how many tokens count against the limit: used and not cached, or reserved for open requests."""
        with self._lock:
            return self._new + self._reserved

    def check_limits(self, question: Question) -> None:
        """Count a request of the agent's process, and raise LimitExceeded if it passes a fixed limit.

        `question` asks for completions or for a token count. The limits concern the requests per attempt, the
        completions per request, and the sampling options; the token limit is not checked here.
        """
        if isinstance(question, TokenCountQuestion):
            self._counted += 1
            if self._counted > _COUNTS * self._attempts:
                raise LimitExceeded(
                    f"the agent's process had over {_COUNTS * self._attempts:,} texts counted"
                )
            return
        self._asked += len(question.requests)
        most = self._engine.context_tokens
        if self._asked > _REPLIES * self._attempts:
            raise LimitExceeded(
                f"the agent's process asked for over {_REPLIES * self._attempts:,} replies"
            )
        if not 0 < len(question.requests) <= _BATCH:
            raise LimitExceeded(
                f"the agent's process asked for {len(question.requests)} replies at once"
            )
        if not all(_is_reasonable(request, most) for request in question.requests):
            raise LimitExceeded(
                "the agent's process asked for a reply outside the limits of any agent"
            )

    def answer(self, question: Question, seconds: float) -> PipeAnswer:
        """Return the engine's answer to `question`, or a failure if the token limit is reached.

        `question` asks for completions or for a token count. The engine has `seconds` for each completion. If only the
        first completions fit the token limit, the others fail. Raises LimitExceeded after more late answers than
        attempts, because each late answer should have ended an attempt.
        """
        if isinstance(question, TokenCountQuestion):
            return self._count(question)
        paid, price = self._reserve(question.requests)
        if not paid:
            return PipeAnswer(question.id, down=self._used_up)
        answer = self._ask_engine(replace(question, requests=paid), price, seconds)
        lack = len(question.requests) - len(paid)
        if answer.down or not lack:
            return answer
        return replace(answer, replies=(*answer.replies, *[Reply(failure=self._used_up)] * lack))

    def _count(self, question: TokenCountQuestion) -> PipeAnswer:
        size = len(question.text.encode(errors="surrogatepass"))
        if size > _LONGEST_TOKEN * self._engine.context_tokens:
            return PipeAnswer(
                question.id, size
            )  # a token has at least one byte, so the size is an upper bound
        try:
            return answer_question(self._engine, question)
        except EngineError as error:
            return PipeAnswer(question.id, down=encode_failure(error))

    def _reserve(self, requests: Sequence[Request]) -> tuple[tuple[Request, ...], int]:
        """Reserve tokens and return the completions that fit, with their highest cost."""
        paid, price = 0, 0
        with self._lock:
            # Reserve the highest cost before asking: parallel requests must not pass the limit together.
            left = self._tokens - self._new - self._reserved
            for request in requests:
                most = _estimate_max_cost(request, self._engine.context_tokens)
                if price + most > left:
                    self.is_exhausted = True
                    break
                paid, price = paid + 1, price + most
            self._reserved += price
        return tuple(requests[:paid]), price

    def _ask_engine(self, question: CompletionQuestion, price: int, seconds: float) -> PipeAnswer:
        began, timed, answer = time.monotonic(), _cap_seconds(question, seconds), None
        try:
            answer = answer_question(self._engine, timed)
        finally:
            is_late = time.monotonic() > began + _find_shortest_limit(timed)
            self._pay(price, _list_completions(answer), is_late=is_late)
        return answer

    @property
    def _used_up(self) -> Failure:
        return encode_failure(EngineError(f"the {self._tokens:,} {_USED_UP}"))

    def _pay(self, reserved: int, answers: Sequence[Completion], *, is_late: bool) -> None:
        paid = sum(
            completion.prompt_tokens + completion.completion_tokens for completion in answers
        )
        with self._lock:
            self._reserved -= reserved
            self.used_tokens += paid
            self._new += sum(
                max(0, completion.prompt_tokens - completion.cached_tokens)
                + completion.completion_tokens
                for completion in answers
            )
            self.on_time_tokens += 0 if is_late else paid
            self._late += is_late
            if self._late > self._attempts:
                raise LimitExceeded(
                    "the agent's process got more late answers than it has attempts"
                )


def _estimate_max_cost(request: Request, context: int) -> int:
    """Return the most tokens a request can use: a token has at least one byte, and a reply fits the
    context.
    """
    written = json.dumps(asdict(request), ensure_ascii=False)
    return min(len(written.encode(errors="surrogatepass")) + request.max_tokens, context)


def _find_shortest_limit(question: CompletionQuestion) -> float:
    return min(request.seconds or 0.0 for request in question.requests)


def _is_reasonable(request: Request, most: int) -> bool:
    return (
        0 < request.max_tokens <= most
        and 0 <= request.temperature <= 2
        and not request.top_logprobs
    )


def _cap_seconds(question: CompletionQuestion, seconds: float) -> CompletionQuestion:
    return replace(
        question,
        requests=tuple(
            replace(
                request,
                seconds=seconds if request.seconds is None else min(request.seconds, seconds),
            )
            for request in question.requests
        ),
    )


def _list_completions(answer: PipeAnswer | None) -> list[Completion]:
    replies = answer.replies if answer else ()
    return [reply.completion for reply in replies if reply.completion]


class EngineRequests:
    """Answers the engine requests of an agent's process in threads, while the context is open.

    Leaving the context kills the process and drops open requests.
    """

    def __init__(self, metered: MeteredEngine, process: SandboxedProcess) -> None:
        self._metered, self._process = metered, process
        self._pool = ThreadPoolExecutor(_TOGETHER, thread_name_prefix="agent")
        self._free = threading.BoundedSemaphore(_TOGETHER)
        self._broken: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def submit(self, question: Question) -> None:
        """Start a thread that answers `question` and sends the answer to the agent's process.

        Raises LimitExceeded for a request that passes a fixed limit, and for too many requests at once.
        """
        self._metered.check_limits(question)
        # Do not block: a process that floods the reader must fail, not slow the worker down.
        if not self._free.acquire(blocking=False):
            raise LimitExceeded(
                f"the agent's process asked for more than {_TOGETHER} answers at once"
            )
        work = self._pool.submit(
            copy_context().run, self._metered.answer, question, self._process.seconds_left
        )
        work.add_done_callback(self._send_answer)

    def raise_engine_error(self) -> None:
        """Raise the error with which an answering thread ended, such as LimitExceeded; do nothing if there is none.

        An EngineError ends no thread: the agent gets it as its answer.
        """
        if self._broken is not None:
            raise self._broken

    def _send_answer(self, work: Future[PipeAnswer]) -> None:
        if work.cancelled():
            return
        if (
            error := work.exception()
        ):  # raised later by `raise_engine_error`, on the thread that waits
            self._broken = error
            self._process.kill()
            return
        self._free.release()  # release first: the process may ask again as soon as it reads the answer
        self._process.send(encode_message(work.result()))
