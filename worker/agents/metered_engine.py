"""Asks the model on behalf of a process that is not trusted, as long as the price is right."""

import json
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from types import TracebackType
from typing import Final, Self

from model.agents.process.messages import line
from model.engines.pipe_engine import (
    Answer,
    Complete,
    Count,
    Failure,
    Question,
    Reply,
    answered,
    failure,
)
from model.errors import EngineError
from model.protocols import Completion, Engine, Request
from worker.agents.sandboxed_process import ShutIn

_TOGETHER: Final = 8
"""Questions that wait for an answer at one time; no more attempts than that are made side by side."""
_REPLIES: Final = 200
"""Asked for by one attempt."""
_BATCH: Final = 64
"""Requests of one question."""
_COUNTS: Final = 2_000
"""Texts whose tokens one attempt has counted."""
_LONGEST_TOKEN: Final = 16
"""Bytes: a text that would not fit a context of such tokens is not shown to the engine to be counted."""
_USED_UP: Final = "tokens that this work may cost are used up"
"""Ends the attempt that reads it."""


class Greedy(Exception):
    """The process asks for more than any agent would; the message says for what."""


class Till:
    """The engine, and what it may cost: what it had in its cache is free, as in a repository's budget. Threads share it."""

    def __init__(self, engine: Engine, tokens: int, attempts: int) -> None:
        self._engine, self._tokens, self._attempts = engine, tokens, attempts
        self._lock = threading.Lock()
        self._reserved = self._asked = self._counted = self._late = self._new = 0
        self.is_used_up = False
        """A request was refused because it could have passed what this may cost."""
        self.spent = 0
        """Tokens that were read and sampled so far."""
        self.due = 0
        """Of these, those of answers that came in time: a record has to tell of them."""

    @property
    def cost(self) -> int:
        """What a budget is charged: tokens that were not in the cache, and all that a question under way may take."""
        with self._lock:
            return self._new + self._reserved

    def require_modest(self, question: Question) -> None:
        """Raises Greedy for what no agent asks."""
        if isinstance(question, Count):
            self._counted += 1
            if self._counted > _COUNTS * self._attempts:
                raise Greedy(
                    f"the agent's process had over {_COUNTS * self._attempts:,} texts counted"
                )
            return
        self._asked += len(question.requests)
        most = self._engine.context_tokens
        if self._asked > _REPLIES * self._attempts:
            raise Greedy(
                f"the agent's process asked for over {_REPLIES * self._attempts:,} replies"
            )
        if not 0 < len(question.requests) <= _BATCH:
            raise Greedy(f"the agent's process asked for {len(question.requests)} replies at once")
        if not all(_is_modest(one, most) for one in question.requests):
            raise Greedy("the agent's process asked for a reply that no agent asks for")

    def answer(self, question: Question, seconds: float) -> Answer:
        """The engine's answer within that time, if the engine can; or that there is nothing left to pay with.

        Of a question's requests the first that can be paid for are asked, the others fail.
        Raises Greedy for more late answers than attempts: each ends with its first.
        """
        if isinstance(question, Count):
            return self._count(question)
        paid, price = self._reserve(question.requests)
        if not paid:
            return Answer(question.id, down=self._used_up)
        answer = self._paid_answer(replace(question, requests=paid), price, seconds)
        lack = len(question.requests) - len(paid)
        if answer.down or not lack:
            return answer
        return replace(answer, replies=(*answer.replies, *[Reply(failure=self._used_up)] * lack))

    def _count(self, question: Count) -> Answer:
        size = len(question.text.encode(errors="surrogatepass"))
        if size > _LONGEST_TOKEN * self._engine.context_tokens:
            return Answer(question.id, size)  # no token has less than a byte
        try:
            return answered(self._engine, question)
        except EngineError as error:
            return Answer(question.id, down=failure(error))

    def _reserve(self, requests: Sequence[Request]) -> tuple[tuple[Request, ...], int]:
        """Those that can be paid for, and what they may cost together."""
        paid, price = 0, 0
        with self._lock:
            left = self._tokens - self._new - self._reserved
            for one in requests:
                most = _most(one, self._engine.context_tokens)
                if price + most > left:
                    self.is_used_up = True
                    break
                paid, price = paid + 1, price + most
            self._reserved += price
        return tuple(requests[:paid]), price

    def _paid_answer(self, question: Complete, price: int, seconds: float) -> Answer:
        began, timed, answer = time.monotonic(), _within(question, seconds), None
        try:
            answer = answered(self._engine, timed)
        finally:
            is_late = time.monotonic() > began + _patience(timed)
            self._pay(price, _completions(answer), is_late=is_late)
        return answer

    @property
    def _used_up(self) -> Failure:
        return failure(EngineError(f"the {self._tokens:,} {_USED_UP}"))

    def _pay(self, reserved: int, answers: Sequence[Completion], *, is_late: bool) -> None:
        paid = sum(one.prompt_tokens + one.completion_tokens for one in answers)
        with self._lock:
            self._reserved -= reserved
            self.spent += paid
            self._new += sum(
                max(0, one.prompt_tokens - one.cached_tokens) + one.completion_tokens
                for one in answers
            )
            self.due += 0 if is_late else paid
            self._late += is_late
            if self._late > self._attempts:
                raise Greedy("the agent's process gave up on more answers than it makes attempts")


def _most(request: Request, context: int) -> int:
    """What a request may cost: no token of its prompt has less than a byte, and no reply passes the context."""
    written = json.dumps(asdict(request), ensure_ascii=False)
    return min(len(written.encode(errors="surrogatepass")) + request.max_tokens, context)


def _patience(question: Complete) -> float:
    return min(one.seconds or 0.0 for one in question.requests)


def _is_modest(request: Request, most: int) -> bool:
    return (
        0 < request.max_tokens <= most
        and 0 <= request.temperature <= 2
        and not request.alternatives
    )


def _within(question: Complete, seconds: float) -> Complete:
    return replace(
        question,
        requests=tuple(
            replace(one, seconds=seconds if one.seconds is None else min(one.seconds, seconds))
            for one in question.requests
        ),
    )


def _completions(answer: Answer | None) -> list[Completion]:
    replies = answer.replies if answer else ()
    return [one.completion for one in replies if one.completion]


class Asking:
    """Answers a process's questions in threads of its own; those under way are nobody's when it is closed."""

    def __init__(self, till: Till, process: ShutIn) -> None:
        self._till, self._process = till, process
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

    def take(self, question: Question) -> None:
        """Have it answered. Raises Greedy for what no agent asks, and for too much at once."""
        self._till.require_modest(question)
        if not self._free.acquire(blocking=False):
            raise Greedy(f"the agent's process asked for more than {_TOGETHER} things at once")
        work = self._pool.submit(self._till.answer, question, self._process.seconds_left)
        work.add_done_callback(self._tell)

    def require_engine(self) -> None:
        """Raises what the engine raised, if that was no EngineError."""
        if self._broken is not None:
            raise self._broken

    def _tell(self, work: Future[Answer]) -> None:
        if work.cancelled():
            return
        if error := work.exception():  # it is raised where the work is waited for
            self._broken = error
            self._process.kill()
            return
        self._free.release()  # first: who hears the answer may ask at once
        self._process.say(line(work.result()))
