"""Prompts that are asked one time each, in batches; every reply, and what was read from it, is kept as a step."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from model.agents import engine_deadline
from model.agents.trajectories.attempt_record import Ended
from model.agents.trajectories.trajectory import Limits, Step, Stop
from model.domain import Tokens
from model.errors import EngineError, TimedOut
from model.protocols import Completion, Engine, Message, Request

T = TypeVar("T")
Read = tuple[T | None, Mapping[str, Any]]
"""What a reply is worth, None where it is dropped; and what was read from it, or `dropped` and `why`, as JSON."""

_MOST_SAMPLES = 1_000
"""Of one attempt; seeds of different attempts don't meet."""


@dataclass(frozen=True, slots=True)
class Sample(Generic[T]):
    """One reply that is wanted, and how it is read."""

    stage: str
    prompt: tuple[Message, ...]
    read: Callable[[str], Read[T]]


@dataclass(slots=True)
class Sampler:
    """The engine calls of one attempt."""

    engine: Engine
    limits: Limits
    batch: int
    seed: int
    clock: Callable[[], float]
    on_step: Callable[[Step], None]
    steps: list[Step] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    """What the engine counted, in the order it was asked: with it, the same fits when the record is replayed."""
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def since(self) -> float:
        """Seconds since the attempt began, to the millisecond."""
        return round(self.clock() - self._began, 3)

    def count(self, text: str) -> int:
        """Tokens of a text, as the engine counts; kept."""
        self.counts.append(self.engine.count_tokens(text))
        return self.counts[-1]

    def values(self, samples: Sequence[Sample[T]]) -> list[T]:
        """What the replies are worth that are worth something, at least one.

        Raises Ended where none is: for the engine when it failed each time, or is down; for time when that ran out;
        else for what the replies were. What there is when time runs out is handed back.
        """
        found: list[T] = []
        failures: list[str] = []
        stop = Stop.MALFORMED
        for start in range(0, len(samples), self.batch):
            if stop is Stop.TIMEOUT or self._seconds_left <= 0:
                stop = Stop.TIMEOUT
                break
            some = samples[start : start + self.batch]
            for sample, answer in zip(some, self._answers(some), strict=True):
                if isinstance(answer, EngineError):
                    failures.append(str(answer))
                    self._keep(_failed(sample, answer, self.since))
                    stop = Stop.TIMEOUT if isinstance(answer, TimedOut) else stop
                else:
                    found += self._read(sample, answer)
        if not found:
            failed = len(failures) == len(samples) and stop is not Stop.TIMEOUT
            raise Ended(Stop.ENGINE, failure=failures[0]) if failed else Ended(stop)
        return found

    @property
    def _seconds_left(self) -> float:
        """From the last answer on."""
        return self.limits.seconds - (self.steps[-1].seconds if self.steps else 0.0)

    def _answers(self, samples: Sequence[Sample[T]]) -> list[Completion | EngineError]:
        """One per sample. Raises Ended when the engine is down."""
        requests = [
            Request(
                sample.prompt,
                max_tokens=self.limits.reply_tokens,
                temperature=self.limits.temperature,
                seed=self.seed * _MOST_SAMPLES + len(self.steps) + at,
                token_ids=True,
            )
            for at, sample in enumerate(samples)
        ]
        try:
            return engine_deadline.answers(self.engine, requests, self._seconds_left)
        except EngineError as error:
            raise Ended(Stop.ENGINE, failure=str(error)) from error

    def _read(self, sample: Sample[T], said: Completion) -> list[T]:
        """What the reply is worth, if anything."""
        cut: Read[T] = None, dropped("unfinished", "the reply was cut at its limit of tokens")
        value, outcome = sample.read(said.text) if said.finished else cut
        self._keep(
            Step(
                reply=Message("assistant", said.text),
                answers=(),
                tokens=Tokens(said.prompt_tokens, said.cached_tokens, said.completion_tokens),
                seconds=self.since,
                token_ids=said.token_ids,
                finished=said.finished,
                malformed=value is None,
                prompt=sample.prompt,
                stage=sample.stage,
                outcome=json.dumps(outcome),
            )
        )
        return [] if value is None else [value]

    def _keep(self, step: Step) -> None:
        self.steps.append(step)
        self.on_step(step)


def dropped(kind: str, why: str) -> dict[str, str]:
    """What is kept of a reply that is worth nothing."""
    return {"dropped": kind, "why": why}


def _failed(sample: Sample[T], error: EngineError, seconds: float) -> Step:
    """The step of a request that got no reply."""
    return Step(
        reply=Message("assistant", ""),
        answers=(),
        tokens=Tokens(),
        seconds=seconds,
        finished=False,
        prompt=sample.prompt,
        stage=sample.stage,
        outcome=json.dumps(
            dropped("late" if isinstance(error, TimedOut) else "engine", str(error))
        ),
    )
