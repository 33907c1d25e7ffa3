"""Many conversations with one model that is trained: their requests are gathered, and answered in one batch.

Each conversation runs in a thread of its own; the model runs in the thread that calls `all_of`. A batch is asked for when
every conversation that goes on waits for an answer. Processes that train side by side ask equally often: they may share
weights, and one that has nothing to ask would leave the others waiting.
"""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

from model.errors import EngineDown, EngineError, NoTools
from model.protocols import Completion, Request
from training.rollouts import chat_encoding

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Voice:
    """The model that is trained, and how to ask it."""

    tokenizer: Any
    context_tokens: int
    sample: Callable[[list[list[int]]], list[list[int]]]
    """Replies as token ids to prompts as token ids, each to its end or as long as a turn may be."""
    anybody_asks: Callable[[bool], bool] = lambda here: here
    """Whether any process asks, given whether this one does; every process is asked equally often."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request that waits."""

    number: int
    """Of its conversation."""
    ids: list[int]
    answer: "Future[list[int]]"


class _Left:
    """A conversation is over."""


_Queue = SimpleQueue[_Asked | _Left]


@dataclass(slots=True)
class Line:
    """One conversation's engine."""

    voice: Voice
    queue: "_Queue"
    number: int
    sampled: list[list[int]] = field(default_factory=list)
    """Its replies, as they were sampled."""
    name: str = "trainer"
    model: str = "in training"

    @property
    def context_tokens(self) -> int:
        """The voice's own."""
        return self.voice.context_tokens

    def count_tokens(self, text: str) -> int:
        """Exact, by the model's own tokenizer."""
        return len(self.voice.tokenizer(text, add_special_tokens=False)["input_ids"])

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Waits until the batch that holds the request is answered; asked with tools, it has none."""
        if any(request.tools for request in requests):
            return [NoTools("the model in training is told of its tools in words")] * len(requests)
        return [self._answer(request) for request in requests]

    def close(self) -> None:
        """Nothing to give back."""

    def _answer(self, request: Request) -> Completion:
        tokenizer = self.voice.tokenizer
        found = chat_encoding.encoded(tokenizer, request.messages, self.sampled)
        ids = found.prompt + found.rest
        answer: Future[list[int]] = Future()
        self.queue.put(_Asked(self.number, ids, answer))
        reply = answer.result()[: request.max_tokens]
        self.sampled.append(reply)
        return Completion(
            text=tokenizer.decode(reply, skip_special_tokens=True),
            finished=bool(reply) and reply[-1] == tokenizer.eos_token_id,
            prompt_tokens=len(ids),
            cached_tokens=0,
            completion_tokens=len(reply),
            token_ids=tuple(reply) if request.token_ids else (),
        )


def all_of(voice: Voice, conversations: Sequence[Callable[[Line], T]]) -> list[T]:
    """What each conversation comes to, in order. Raises what one of them, or the model, raises."""
    queue: _Queue = SimpleQueue()

    def held(number: int, conversation: Callable[[Line], T]) -> T:
        try:
            return conversation(Line(voice, queue, number))
        finally:
            queue.put(_Left())

    with ThreadPoolExecutor(max(1, len(conversations))) as pool:
        running = [pool.submit(held, *one) for one in enumerate(conversations)]
        _serve(voice, queue, len(running))
        return [one.result() for one in running]


def _serve(voice: Voice, queue: _Queue, talking: int) -> None:
    waiting: list[_Asked] = []
    try:
        while talking:
            talking -= _heard(queue, waiting)
            if waiting and len(waiting) == talking:
                _answer(voice, waiting)
                waiting = []
    finally:
        _dismiss(queue, waiting, talking)
    while voice.anybody_asks(False):
        voice.sample([[voice.tokenizer.eos_token_id]])


def _heard(queue: _Queue, waiting: list[_Asked]) -> int:
    """How many conversations have ended by what is said next: none where one asks, and so waits."""
    told = queue.get()
    if isinstance(told, _Left):
        return 1
    waiting.append(told)
    return 0


def _answer(voice: Voice, waiting: list[_Asked]) -> None:
    waiting.sort(key=lambda one: one.number)  # threads come in any order, a run is to be repeated
    voice.anybody_asks(True)
    replies = voice.sample([one.ids for one in waiting])
    pairs = list(zip(waiting, replies, strict=True))  # counted before anybody is answered
    for one, reply in pairs:
        one.answer.set_result(reply)


def _dismiss(queue: _Queue, waiting: list[_Asked], talking: int) -> None:
    """Nobody is kept waiting for a model that broke: who waits or asks is told so, until all have left."""
    broken = sys.exception()
    while talking:
        while waiting:
            why = EngineDown(f"the model in training failed: {broken}")
            waiting.pop().answer.set_exception(why)
        talking -= _heard(queue, waiting)
