"""Run many conversations with the model in training, batching their requests.

Each conversation runs in its own thread. The model runs in the thread that calls `run_conversations`. A batch
starts when every open conversation waits for a reply. Parallel processes sample equally often, because sharded
weights make every forward pass a collective operation.
"""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

from model.errors import EngineDown, EngineError, NoTools
from model.prompts.special_tokens import SpecialTokens, read_special_tokens
from model.protocols import Completion, Request
from training.rollouts import chat_encoding
from training.rollouts.chat_encoding import SampledReply

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SharedModel:
    """The model in training and the functions to sample from it."""

    tokenizer: Any
    context_tokens: int
    sample: Callable[[list[list[int]]], list[SampledReply]]
    """Maps prompts, as token ids, to replies. A reply ends with EOS or at the turn's limit."""
    any_process_asks: Callable[[bool], bool] = lambda here: here
    """Tells whether any process has a request, given whether this one has. All processes must call it together."""


@dataclass(frozen=True, slots=True)
class _PendingRequest:
    """A request that waits for the next batch."""

    number: int
    """Number of its conversation."""
    ids: list[int]
    answer: "Future[SampledReply]"


class _ConversationEnd:
    """The event that a conversation ended."""


_Queue = SimpleQueue[_PendingRequest | _ConversationEnd]


@dataclass(slots=True)
class BatchedEngine:
    """The engine of one conversation with the model in training, which answers in batches."""

    shared: SharedModel
    queue: "_Queue"
    number: int
    """Number of the conversation."""
    replies: list[SampledReply] = field(default_factory=list)
    """The replies so far, exactly as sampled, with their log-probabilities."""
    name: str = "trainer"
    model: str = "in training"

    @property
    def context_tokens(self) -> int:
        """Context length of the shared model, in tokens."""
        return self.shared.context_tokens

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens of the shared model's tokenizer."""
        return read_special_tokens(self.shared.tokenizer)

    def count_tokens(self, text: str) -> int:
        """Return the exact number of tokens of a text, by the tokenizer of the model in training."""
        return len(self.shared.tokenizer(text, add_special_tokens=False)["input_ids"])

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return the reply to each request. It blocks until the batches with these requests are answered.

        Requests with tools fail with NoTools.
        """
        if any(request.tools for request in requests):
            return [NoTools("the model in training is told of its tools in words")] * len(requests)
        return [self._answer(request) for request in requests]

    def close(self) -> None:
        """Do nothing: the engine holds no resources."""

    def _answer(self, request: Request) -> Completion:
        tokenizer = self.shared.tokenizer
        chat = chat_encoding.encode_chat(tokenizer, request.messages, self.replies)
        ids = chat.prompt + chat.completion
        answer: Future[SampledReply] = Future()
        self.queue.put(_PendingRequest(self.number, ids, answer))
        reply = answer.result().truncate(request.max_tokens)
        self.replies.append(reply)
        return Completion(
            text=tokenizer.decode(reply.ids, skip_special_tokens=True),
            finished=bool(reply.ids) and reply.ids[-1] == tokenizer.eos_token_id,
            prompt_tokens=len(ids),
            cached_tokens=0,
            completion_tokens=len(reply.ids),
            token_ids=tuple(reply.ids) if request.token_ids else (),
        )


def run_conversations(
    shared: SharedModel, conversations: Sequence[Callable[[BatchedEngine], T]]
) -> list[T]:
    """Run conversations with the shared model in parallel, and return their results in order.

    A conversation is a function that receives its engine. Raises the first error of a conversation or the model.
    """
    queue: _Queue = SimpleQueue()

    def run_one(number: int, conversation: Callable[[BatchedEngine], T]) -> T:
        try:
            return conversation(BatchedEngine(shared, queue, number))
        finally:
            queue.put(_ConversationEnd())

    with ThreadPoolExecutor(max(1, len(conversations))) as pool:
        running = [pool.submit(run_one, *item) for item in enumerate(conversations)]
        _serve(shared, queue, len(running))
        return [future.result() for future in running]


def _serve(shared: SharedModel, queue: _Queue, open_count: int) -> None:
    waiting: list[_PendingRequest] = []
    try:
        while open_count:
            open_count -= _receive(queue, waiting)
            # A full batch: every open conversation blocks on its Future until this thread answers.
            if waiting and len(waiting) == open_count:
                _answer_batch(shared, waiting)
                waiting = []
    finally:
        _fail_waiting(queue, waiting, open_count)
    # Other processes may still sample. Sharded weights need this process in every forward pass.
    while shared.any_process_asks(False):
        shared.sample([[shared.tokenizer.eos_token_id]])


def _receive(queue: _Queue, waiting: list[_PendingRequest]) -> int:
    """Wait for the next event. Return 1 if a conversation ended, 0 if it added a request."""
    event = queue.get()
    if isinstance(event, _ConversationEnd):
        return 1
    waiting.append(event)
    return 0


def _answer_batch(shared: SharedModel, waiting: list[_PendingRequest]) -> None:
    # Threads arrive in any order. Sorting makes a seeded run repeatable.
    waiting.sort(key=lambda request: request.number)
    shared.any_process_asks(True)
    replies = shared.sample([request.ids for request in waiting])
    # A list, so that a wrong number of replies raises before any thread wakes up.
    pairs = list(zip(waiting, replies, strict=True))
    for request, reply in pairs:
        request.answer.set_result(reply)


def _fail_waiting(queue: _Queue, waiting: list[_PendingRequest], open_count: int) -> None:
    """Fail all waiting and later requests after a model error, until every conversation has ended."""
    broken = sys.exception()
    while open_count:
        while waiting:
            error = EngineDown(f"the model in training failed: {broken}")
            waiting.pop().answer.set_exception(error)
        open_count -= _receive(queue, waiting)
