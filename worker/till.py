"""Asks the model on behalf of a process that is not trusted, as long as the price is right."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

from model.agents.messages import line
from model.engines.piped import Answer, Complete, Count, Question, answered, failure
from model.errors import EngineError
from model.protocols import Completion, Engine, Request
from worker.shut_in import ShutIn

_TOGETHER: Final = 8
"""Questions that wait for an answer at one time; no more attempts than that are made side by side."""
_REPLIES: Final = 200
"""Asked for by one attempt."""
_BATCH: Final = 64
"""Requests of one question."""
USED_UP: Final = "tokens that this work may cost are used up"
"""Ends the attempt that reads it."""


class Greedy(Exception):
    """The process asks for more than any agent would; the message says for what."""


class Till:
    """The engine, and what it may cost: what it had in its cache is free, as in a repository's budget. Threads share it."""

    def __init__(self, engine: Engine, tokens: int, attempts: int) -> None:
        self._engine, self._tokens, self._attempts = engine, tokens, attempts
        self._lock = threading.Lock()
        self._reserved = self._asked = self._late = self._new = 0
        self.spent = 0
        """Tokens that were read and sampled so far."""
        self.due = 0
        """Of these, those of answers that came in time: a record has to tell of them."""

    def require_modest(self, question: Question) -> None:
        """Raises Greedy for what no agent asks."""
        if isinstance(question, Count):
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

        Raises Greedy for more late answers than attempts: each ends with its first.
        """
        if isinstance(question, Count):
            return answered(self._engine, question)
        price = sum(one.max_tokens for one in question.requests)
        with self._lock:
            if self._new + self._reserved + price > self._tokens:
                return Answer(question.id, down=failure(_used_up(self._tokens)))
            self._reserved += price
        began, timed, answer = time.monotonic(), _within(question, seconds), None
        try:
            answer = answered(self._engine, timed)
        finally:
            is_late = time.monotonic() > began + _patience(timed)
            self._pay(price, _completions(answer), is_late=is_late)
        return answer

    def _pay(self, reserved: int, answers: Sequence[Completion], *, is_late: bool) -> None:
        paid = sum(one.prompt_tokens + one.completion_tokens for one in answers)
        with self._lock:
            self._reserved -= reserved
            self.spent += paid
            self._new += paid - sum(one.cached_tokens for one in answers)
            self.due += 0 if is_late else paid
            self._late += is_late
            if self._late > self._attempts:
                raise Greedy("the agent's process gave up on more answers than it makes attempts")


def _used_up(tokens: int) -> EngineError:
    return EngineError(f"the {tokens:,} {USED_UP}")


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
        self._pool.submit(self._answer, question)

    def require_engine(self) -> None:
        """Raises what the engine raised, if that was no EngineError."""
        if self._broken is not None:
            raise self._broken

    def _answer(self, question: Question) -> None:
        try:
            answer = self._till.answer(question, self._process.seconds_left)
        except BaseException as error:  # noqa: BLE001 - it is raised where the work is waited for
            self._broken = error
            self._process.kill()
        else:
            self._process.say(line(answer))
        finally:
            self._free.release()
