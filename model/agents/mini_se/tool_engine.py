"""Any engine, made one whose model can call tools: by the server's own way, or in words where it has none."""

from collections.abc import Sequence
from dataclasses import replace

from model.agents.mini_se import tool_text
from model.errors import EngineError, NoTools
from model.protocols import Completion, Engine, Request


class WithTools:
    """Asks with tools until the engine has none, and from then on in words. Safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._in_words = False

    @property
    def name(self) -> str:
        """The engine's own."""
        return self._engine.name

    @property
    def model(self) -> str:
        """The engine's own."""
        return self._engine.model

    @property
    def context_tokens(self) -> int:
        """The engine's own."""
        return self._engine.context_tokens

    def count_tokens(self, text: str) -> int:
        """As the engine counts."""
        return self._engine.count_tokens(text)

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """One answer per request; a call that a reply holds as text is among its calls. Raises EngineDown."""
        answers = [] if self._in_words else self._engine.complete(requests)
        if self._in_words or any(isinstance(one, NoTools) for one in answers):
            self._in_words = True
            answers = self._engine.complete(
                [tool_text.in_words(one) if one.tools else one for one in requests]
            )
        pairs = zip(requests, answers, strict=True)
        return [_read(request, answer) for request, answer in pairs]


def _read(request: Request, answer: Completion | EngineError) -> Completion | EngineError:
    """With the calls in the text: a server's parser gives up on a whole reply for one wrong comma."""
    if isinstance(answer, EngineError) or answer.tool_calls or not request.tools:
        return answer
    earlier = sum(len(message.tool_calls) for message in request.messages)
    return replace(answer, tool_calls=tool_text.calls_in(answer.text, first=earlier))
