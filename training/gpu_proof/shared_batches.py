"""Let several groups share the batches of one engine: while a call runs, the others wait and then go together.

A verifier asks about one group at a time. On a GPU a batch of four prompts costs as much as one of thirty-two.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from model.errors import EngineError
from model.prompts.special_tokens import SpecialTokens
from model.protocols import Completion, Engine, Request


@dataclass(slots=True)
class _Call:
    """The requests of one caller, and their answers once a batch has answered them."""

    requests: Sequence[Request]
    answers: list[Completion | EngineError] = field(default_factory=list)
    failure: Exception | None = None
    """What the engine raised instead of answering."""


class SharedBatches:
    """An engine that answers the waiting calls of all threads in one call of `engine`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._running = threading.Lock()
        self._changing = threading.Lock()
        self._waiting: list[_Call] = []
        self.name, self.model = engine.name, engine.model

    @property
    def context_tokens(self) -> int:
        """Context length of the engine, in tokens."""
        return self._engine.context_tokens

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens of the engine's tokenizer."""
        return self._engine.special_tokens

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens in `text`, as the engine counts them."""
        return self._engine.count_tokens(text)

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return one completion or error per request, in order. Raises what the engine raises."""
        call = _Call(requests)
        with self._changing:
            self._waiting.append(call)
        # The next caller answers all that came in the meantime, so no call ever waits for a timer.
        with self._running:
            if requests and not call.answers and call.failure is None:
                self._answer_waiting()
        if call.failure is not None:
            raise call.failure
        return call.answers

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()

    def _answer_waiting(self) -> None:
        with self._changing:
            calls, self._waiting = self._waiting, []
        try:
            answers = self._engine.complete([r for call in calls for r in call.requests])
        except Exception as error:  # noqa: BLE001 - each caller gets it
            for call in calls:
                call.failure = error
            return
        for call in calls:
            size = len(call.requests)
            call.answers, answers = answers[:size], answers[size:]
