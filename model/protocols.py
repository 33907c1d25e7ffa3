"""The two seams of the model package: what an engine and a verifier must offer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from model.domain import EngineInfo, GroupVerdict, Issue, Patch, Vote
from model.errors import EngineError


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; role is `system`, `user` or `assistant`."""

    role: str
    content: str


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
        """One answer per request, in order. A failed request is data; a dead engine raises EngineDown."""
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
