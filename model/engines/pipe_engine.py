"""An engine at the other end of a pipe, for a process without network.

The process sends a `TokenCountQuestion` or a `CompletionQuestion` and waits. The owner of the real engine replies
with `answer_question`. The callers choose the transport.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from model.errors import BadEngine, EngineDown, EngineError, EngineTimeout, NoTools
from model.protocols import Completion, Engine, Request

_FAILURES: Final = {kind.__name__: kind for kind in (BadEngine, EngineDown, NoTools, EngineTimeout)}
"""Errors that keep their type on the way, subclasses first. Any other becomes an EngineError."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """Name, model, context length and special tokens of an engine at the other end of a pipe."""

    name: str
    model: str
    context_tokens: int
    special_tokens: tuple[str, ...] | None = None
    """None: the engine does not know them."""


@dataclass(frozen=True, slots=True)
class TokenCountQuestion:
    """Message that asks the engine's owner how many tokens a text has. The answer has the same `id`."""

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class CompletionQuestion:
    """Message that asks the engine's owner for completions of these requests. The answer has the same `id`."""

    id: int
    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """An EngineError as it travels through the pipe: `kind` is the name of its class."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The engine's result of one request, as it travels through the pipe: a completion or a failure."""

    completion: Completion | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class PipeAnswer:
    """Answer of the process that holds the engine: a token count, or one reply per request."""

    id: int
    """The id of the question that this answers."""
    tokens: int = 0
    replies: tuple[Reply, ...] = ()
    down: Failure | None = None
    """The engine's error in place of an answer."""


Question = TokenCountQuestion | CompletionQuestion


class PipeEngine:
    """Engine that forwards every call through the function `ask` to the process that owns the real engine.

    It is thread-safe if `ask` is.
    """

    def __init__(self, facts: EngineFacts, ask: Callable[[Question], PipeAnswer]) -> None:
        self.name, self.model = facts.name, facts.model
        self.context_tokens = facts.context_tokens
        tokens = facts.special_tokens
        self.special_tokens = None if tokens is None else frozenset(tokens)
        self._ask = ask
        # `count` is atomic in CPython, so threads never share an id.
        self._ids = count()

    def count_tokens(self, text: str) -> int:
        """Ask the engine at the other end of the pipe for the number of tokens in `text`.

        Raises the EngineError that this engine raises.
        """
        answer = self._ask(TokenCountQuestion(next(self._ids), text))
        if answer.down:
            raise _decode_failure(answer.down)
        return answer.tokens

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return the answers of the engine at the other end of the pipe, one per request, in order.

        Raises EngineDown when that engine raises it.
        """
        # A batch is one question: the real engine can then batch it, and the pipe is crossed once.
        answer = self._ask(CompletionQuestion(next(self._ids), tuple(requests)))
        if answer.down:
            raise _decode_failure(answer.down)
        return [reply.completion or _decode_failure(reply.failure) for reply in answer.replies]

    def close(self) -> None:
        """Do nothing, because the engine belongs to the process at the other end of the pipe."""


def describe_engine(engine: Engine) -> EngineFacts:
    """Return the facts about an engine, for the process at the other end of a pipe."""
    tokens = engine.special_tokens
    listed = None if tokens is None else tuple(sorted(tokens))
    return EngineFacts(engine.name, engine.model, engine.context_tokens, listed)


def answer_question(engine: Engine, question: Question) -> PipeAnswer:
    """Answer a question from the pipe with `engine`, and return the answer to send back.

    An EngineError that the engine raises becomes part of the answer.
    """
    # Counting needs no guard: every engine estimates where it cannot count.
    if isinstance(question, TokenCountQuestion):
        return PipeAnswer(question.id, engine.count_tokens(question.text))
    try:
        answers = engine.complete(question.requests)
    except EngineError as error:
        # An exception cannot cross the pipe, and an agent's process must learn that the engine is down.
        return PipeAnswer(question.id, down=encode_failure(error))
    return PipeAnswer(question.id, replies=tuple(_build_reply(item) for item in answers))


def encode_failure(error: EngineError) -> Failure:
    """Convert an engine's error to the name of its class and its message, which can travel through a pipe."""
    # Several kinds may match, because NoTools and EngineTimeout are subclasses. The first one is the closest.
    kinds = (name for name, kind in _FAILURES.items() if isinstance(error, kind))
    return Failure(next(kinds, EngineError.__name__), str(error))


def _build_reply(answer: Completion | EngineError) -> Reply:
    return (
        Reply(failure=encode_failure(answer)) if isinstance(answer, EngineError) else Reply(answer)
    )


def _decode_failure(failed: Failure | None) -> EngineError:
    if failed is None:
        # The other process may be broken or hostile. An empty answer must not look like a completion.
        return EngineDown("the engine's answer holds neither a completion nor a failure")
    # An unknown kind becomes the general error: the text still says what happened.
    return _FAILURES.get(failed.kind, EngineError)(failed.message)
