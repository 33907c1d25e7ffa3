"""The protocols of this package: what an engine, an engine that scores, and a verifier must offer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from model.domain import EngineInfo, GroupVerdict, Issue, Patch, Vote
from model.errors import EngineError


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a language model may call, as the `tools` of the chat API describe it."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(hash=False)
    """JSON Schema of the arguments. The root is an object."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of a tool. Nothing in it has been checked."""

    id: str
    name: str
    arguments: str
    """The text that the model wrote. A well-formed call holds a JSON object."""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. `role` is `system`, `user`, `assistant` or `tool`."""

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """The tools that an assistant's message calls."""
    tool_call_id: str | None = None
    """The id of the call that a tool's message answers."""


@dataclass(frozen=True, slots=True)
class Request:
    """One completion to sample. With `prefill`, the reply continues an assistant turn that begins with this text."""

    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float
    seed: int
    prefill: str | None = None
    top_logprobs: int = 0
    """How many of the likeliest tokens to report at each place of the reply. 0 reports no token at all."""
    tools: tuple[Tool, ...] = ()
    """The tools that the model may call. An engine without tools answers NoTools."""
    token_ids: bool = False
    """Ask for the sampled token ids. An engine that does not know the ids returns none."""
    seconds: float | None = field(default=None, compare=False)
    """Time limit for the answer; the engine returns EngineTimeout after it. None leaves the limit to the engine.

    The field takes no part in comparisons, because it does not change the question.
    """


@dataclass(frozen=True, slots=True)
class Token:
    """One sampled token and the likeliest tokens in its place, with natural log-probabilities."""

    text: str
    log_probability: float
    top_logprobs: tuple[tuple[str, float], ...] = ()
    """The likeliest tokens here, the most likely first, as (text, log-probability)."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The engine's reply. `text` excludes the prefill; `finished` is False when `max_tokens` cut the reply.

    `prompt_tokens` includes `cached_tokens`, the tokens that the engine had read before.
    """

    text: str
    finished: bool
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    tokens: tuple[Token, ...] = ()
    """The tokens of the reply, when the request asked for `top_logprobs`."""
    tool_calls: tuple[ToolCall, ...] = ()
    token_ids: tuple[int, ...] = ()
    """The sampled ids, when the request asked for them and the engine knows them. The last id may be the end token."""


@dataclass(frozen=True, slots=True)
class RawScore:
    """The number that a reward model gives to one prompt. Only differences on one issue have a meaning."""

    value: float
    """A number of any sign and size."""
    prompt_tokens: int


class PromptReader(Protocol):
    """What a prompt has to know of the model that reads it: an engine, or a tokenizer in training."""

    @property
    def context_tokens(self) -> int:
        """The engine's limit for prompt and completion together, in tokens."""
        ...

    @property
    def special_tokens(self) -> frozenset[str] | None:
        """The tokens that untrusted text must not hold, by the engine's tokenizer; None when they are unknown."""
        ...

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens in `text`: exact with a tokenizer, otherwise an upper estimate."""
        ...


class Engine(PromptReader, Protocol):
    """The interface of an engine. An engine runs a language model and knows nothing about issues or patches."""

    @property
    def name(self) -> str:
        """The engine's name in the catalogue, such as `openai_compatible`."""
        ...

    @property
    def model(self) -> str:
        """The name of the model that answers."""
        ...

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Return one answer per request, in order. A failed request is an EngineError in the list.

        An engine that answers nothing raises EngineDown. An engine may ignore `Request.seconds`, so callers must not
        rely on it.
        """
        ...

    def close(self) -> None:
        """Free the engine's connections and memory. Callers do not use the engine afterwards."""
        ...


class ScoringEngine(Engine, Protocol):
    """The interface of an engine whose model has a trained head of one score."""

    def score(self, prompts: Sequence[tuple[Message, ...]]) -> list[RawScore | EngineError]:
        """Return the score of each prompt, in order. A failed prompt is an EngineError in the list.

        An engine that scores nothing raises EngineDown.
        """
        ...


class Verifier(Protocol):
    """The interface of a verifier. A verifier judges the candidates of one issue."""

    @property
    def engine(self) -> EngineInfo:
        """The engine, model and prompt that produce the verdicts."""
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
        """Judge the candidates of one issue with `votes` new votes, and with `earlier` votes on the same texts.

        `on_vote(done, asked)` reports the progress of the new votes. Between engine calls the verifier calls
        `keep_going`, and raises Cancelled when it returns False.
        """
        ...
