"""The two seams of the model package: what an engine and a verifier must offer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from model.domain import EngineInfo, GroupVerdict, Issue, Patch, Vote
from model.errors import EngineError


@dataclass(frozen=True, slots=True)
class Tool:
    """Something a model may ask for, as the chat API's `tools` describe it."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(hash=False)
    """JSON Schema of the arguments; its root is an object."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model asks a tool for. Nothing in it was checked."""

    id: str
    name: str
    arguments: str
    """As the model wrote it: a JSON object when all went well."""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; role is `system`, `user`, `assistant` or `tool`."""

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """What an assistant's turn asks for."""
    tool_call_id: str | None = None
    """Which call a tool's message answers."""


@dataclass(frozen=True, slots=True)
class Request:
    """One completion to sample. With `prefill`, the reply continues an opened assistant turn."""

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float
    seed: int
    prefill: str | None = None
    alternatives: int = 0
    """How many of the likeliest tokens to report at each place of the reply; 0: none, not even the sampled one."""
    tools: tuple[Tool, ...] = ()
    """What the model may call. An engine that has no way to offer tools answers NoTools."""
    token_ids: bool = False
    """Whether to tell the sampled token ids; an engine that can't tells none."""
    seconds: float | None = field(default=None, compare=False)
    """How long the answer is waited for, where not as long as the engine likes; TimedOut after that.

    Requests that differ in it alone are equal: it says nothing about what is asked.
    """


@dataclass(frozen=True, slots=True)
class Token:
    """One sampled token and what the model might have said in its place, in natural log-probabilities."""

    text: str
    log_probability: float
    alternatives: tuple[tuple[str, float], ...] = ()
    """The likeliest tokens here, likeliest first, as (text, log-probability)."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back; `text` excludes the prefill. `finished` is False when max_tokens cut it."""

    text: str
    finished: bool
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    tokens: tuple[Token, ...] = ()
    """The reply token by token, when the request asked for alternatives."""
    tool_calls: tuple[ToolCall, ...] = ()
    token_ids: tuple[int, ...] = ()
    """The sampled ids, when the request asked for them and the engine can tell; what ended the reply may be the last."""


class Engine(Protocol):
    """Runs a language model. Knows nothing of issues or patches."""

    @property
    def name(self) -> str:
        """The catalogue's word for this engine."""
        ...

    @property
    def model(self) -> str:
        """Which weights answer."""
        ...

    @property
    def context_tokens(self) -> int:
        """Prompt and completion together may not exceed this."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, exact where the tokenizer is at hand, else an upper estimate."""
        ...

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """One answer per request, in order. A failed request is data; a dead engine raises EngineDown.

        An engine that can stop gives up on a request after its `seconds`; who asks must not rely on it.
        """
        ...

    def close(self) -> None:
        """Give back connections and memory; the engine is not used afterwards."""
        ...


class Verifier(Protocol):
    """Judges the candidates of one issue against each other."""

    @property
    def engine(self) -> EngineInfo:
        """Which engine, weights and wording will speak."""
        ...

    def verify(
        self,
        issue: Issue,
        candidates: Sequence[Patch],
        *,
        votes: int,
        earlier: Sequence[Vote] = ...,
        on_vote: Callable[[int, int], None] = ...,
        keep_going: Callable[[], bool] = ...,
    ) -> GroupVerdict:
        """The verdict after `votes` more votes, counting those of `earlier` runs on the same texts first.

        `on_vote(done, asked)` reports progress of the new ones; `keep_going` is asked between engine calls,
        and False raises Superseded: newer work replaced this one.
        """
        ...
