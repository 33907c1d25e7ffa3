"""Give any engine tool calls: by the server's API, or in words when the server has none."""

from collections.abc import Sequence
from dataclasses import replace

from model.agents.mini_se import tool_text
from model.errors import EngineError, NoTools
from model.protocols import Completion, Engine, Request


class ToolEngine:
    """Wrapper that gives tool calls to any engine. Threads may share it.

    It sends tools by the engine's API until the engine answers NoTools, and then describes them in words.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._in_words = False

    @property
    def name(self) -> str:
        """The wrapped engine's name."""
        return self._engine.name

    @property
    def model(self) -> str:
        """The wrapped engine's model."""
        return self._engine.model

    @property
    def context_tokens(self) -> int:
        """The wrapped engine's context length in tokens."""
        return self._engine.context_tokens

    @property
    def special_tokens(self) -> frozenset[str] | None:
        """The wrapped engine's special tokens."""
        return self._engine.special_tokens

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text, as the wrapped engine counts."""
        return self._engine.count_tokens(text)

    def close(self) -> None:
        """Close the wrapped engine."""
        self._engine.close()

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return one completion or error for each request, in order. Raises EngineDown.

        Tool calls that a reply holds only as text become the `tool_calls` of its completion.
        """
        answers = [] if self._in_words else self._engine.complete(requests)
        if self._in_words or any(isinstance(item, NoTools) for item in answers):
            self._in_words = True
            answers = self._engine.complete(
                [tool_text.rewrite_request(item) if item.tools else item for item in requests]
            )
        pairs = zip(requests, answers, strict=True)
        return [_parse_text_calls(request, answer) for request, answer in pairs]


def _parse_text_calls(
    request: Request, answer: Completion | EngineError
) -> Completion | EngineError:
    """Parse calls from the text. A server's own parser drops a whole reply for one wrong comma."""
    if isinstance(answer, EngineError) or answer.tool_calls or not request.tools:
        return answer
    earlier = sum(len(message.tool_calls) for message in request.messages)
    return replace(answer, tool_calls=tool_text.parse_calls(answer.text, first=earlier))
