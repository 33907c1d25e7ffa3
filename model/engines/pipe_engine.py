"""An engine at the other end of a pipe: for a process that may reach nothing else.

It asks (`Count`, `Complete`) and waits; who holds the real engine answers (`answered`). How messages travel is the
asker's and the answerer's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from model.errors import BadEngine, EngineDown, EngineError, NoTools, TimedOut
from model.protocols import Completion, Engine, Request

_FAILURES: Final = {one.__name__: one for one in (BadEngine, EngineDown, NoTools, TimedOut)}
"""Those that mean something to who asked, particular ones first; any other is an EngineError."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What an engine says of itself."""

    name: str
    model: str
    context_tokens: int


@dataclass(frozen=True, slots=True)
class Count:
    """How many tokens has this text?"""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Complete:
    """What comes after these?"""

    id: int
    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """An EngineError on its way."""

    kind: str
    said: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of one request: one of both."""

    completion: Completion | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What belongs to the question with this id; `down`: the engine raised it."""

    id: int
    tokens: int = 0
    replies: tuple[Reply, ...] = ()
    down: Failure | None = None


Question = Count | Complete


class Piped:
    """The engine as who asks sees it. Safe to share between threads, as far as `ask` is."""

    def __init__(self, facts: Facts, ask: Callable[[Question], Answer]) -> None:
        self.name, self.model = facts.name, facts.model
        self.context_tokens = facts.context_tokens
        self._ask = ask
        self._ids = count()

    def count_tokens(self, text: str) -> int:
        """As the real engine counts. Raises what that does."""
        answer = self._ask(Count(next(self._ids), text))
        if answer.down:
            raise _raised(answer.down)
        return answer.tokens

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """As the real engine answers. Raises EngineDown when that does."""
        answer = self._ask(Complete(next(self._ids), tuple(requests)))
        if answer.down:
            raise _raised(answer.down)
        return [one.completion or _raised(one.failure) for one in answer.replies]

    def close(self) -> None:
        """Nothing to give back: the engine belongs to who answers."""


def facts(engine: Engine) -> Facts:
    """What to tell of an engine to who will ask it."""
    return Facts(engine.name, engine.model, engine.context_tokens)


def answered(engine: Engine, question: Question) -> Answer:
    """The real engine's answer."""
    if isinstance(question, Count):
        return Answer(question.id, engine.count_tokens(question.text))
    try:
        found = engine.complete(question.requests)
    except EngineError as error:
        return Answer(question.id, down=failure(error))
    return Answer(question.id, replies=tuple(_reply(one) for one in found))


def failure(error: EngineError) -> Failure:
    """An error as it travels."""
    kinds = (name for name, kind in _FAILURES.items() if isinstance(error, kind))
    return Failure(next(kinds, EngineError.__name__), str(error))


def _reply(one: Completion | EngineError) -> Reply:
    return Reply(failure=failure(one)) if isinstance(one, EngineError) else Reply(one)


def _raised(failed: Failure | None) -> EngineError:
    if failed is None:
        return EngineDown("the engine's answer holds neither a completion nor a failure")
    return _FAILURES.get(failed.kind, EngineError)(failed.said)
