"""Sample prompts in batches, one reply each, and record every reply with its outcome as a step."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from model.agents import engine_deadline
from model.agents.agentless.sampling_plan import MOST_SAMPLES
from model.agents.trajectories.trajectory import AttemptEnded, AttemptLimits, Step, StopReason
from model.domain import Tokens
from model.errors import EngineError, EngineTimeout
from model.protocols import Completion, Engine, Message, Request

T = TypeVar("T")
ReadResult = tuple[T | None, Mapping[str, Any]]
"""A reply's value (None: dropped) and its outcome as JSON values: what was read, or `dropped` and `why`."""


@dataclass(frozen=True, slots=True)
class Sample(Generic[T]):
    """One request for a reply: the pipeline stage (`locate`, `repair` or `reproduce`), the prompt and the reader of the reply."""

    stage: str
    prompt: tuple[Message, ...]
    read: Callable[[str], ReadResult[T]]
    """Function that receives the text of the reply."""


@dataclass(slots=True)
class Sampler:
    """Sampler of all replies that one attempt asks its engine for, within the attempt's time limit.

    It sends `batch` prompts per engine call, records each reply as a step, and passes the step to `on_step`.
    """

    engine: Engine
    limits: AttemptLimits
    batch: int
    seed: int
    clock: Callable[[], float]
    on_step: Callable[[Step], None]
    steps: list[Step] = field(default_factory=list)
    token_counts: list[int] = field(default_factory=list)
    """Token counts in the order of the calls. A replay with the same counts fits the same files."""
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def duration(self) -> float:
        """Seconds since the attempt began, rounded to milliseconds."""
        return round(self.clock() - self._began, 3)

    def count_tokens(self, text: str) -> int:
        """Return the engine's token count of a text, and append the count to `token_counts` for a replay."""
        self.token_counts.append(self.engine.count_tokens(text))
        return self.token_counts[-1]

    def collect_values(self, samples: Sequence[Sample[T]]) -> list[T]:
        """Ask the engine for one reply per sample, and return what the samples' `read` functions got from the replies.

        A reply that cannot be read gives no value. When time runs out, the method returns the values so far. Without
        any value it raises AttemptEnded. Its stop reason is ENGINE if every request failed, TIMEOUT if time ran out,
        and MALFORMED otherwise.
        """
        values: list[T] = []
        failures: list[str] = []
        stop = StopReason.MALFORMED
        for start in range(0, len(samples), self.batch):
            if stop is StopReason.TIMEOUT or self._seconds_left <= 0:
                stop = StopReason.TIMEOUT
                break
            some = samples[start : start + self.batch]
            for sample, answer in zip(some, self._send_batch(some), strict=True):
                if isinstance(answer, EngineError):
                    failures.append(str(answer))
                    self._record_step(_build_failed_step(sample, answer, self.duration))
                    stop = StopReason.TIMEOUT if isinstance(answer, EngineTimeout) else stop
                else:
                    values += self._record_reply(sample, answer)
        if not values:
            failed = len(failures) == len(samples) and stop is not StopReason.TIMEOUT
            raise (
                AttemptEnded(StopReason.ENGINE, failure=failures[0])
                if failed
                else AttemptEnded(stop)
            )
        return values

    @property
    def _seconds_left(self) -> float:
        """Seconds left, counted at the last answer. A replay has the same answers and so the same value."""
        return self.limits.seconds - (self.steps[-1].seconds if self.steps else 0.0)

    def _send_batch(self, samples: Sequence[Sample[T]]) -> list[Completion | EngineError]:
        """Send one batch. Raises AttemptEnded when the engine is down."""
        requests = [
            Request(
                sample.prompt,
                max_tokens=self.limits.reply_tokens,
                temperature=self.limits.temperature,
                seed=self.seed * MOST_SAMPLES + len(self.steps) + index,
                token_ids=True,
            )
            for index, sample in enumerate(samples)
        ]
        try:
            return engine_deadline.complete_within(self.engine, requests, self._seconds_left)
        except EngineError as error:
            raise AttemptEnded(StopReason.ENGINE, failure=str(error)) from error

    def _record_reply(self, sample: Sample[T], completion: Completion) -> list[T]:
        """Record one reply, and return its value in a list; the list is empty for a dropped reply."""
        cut: ReadResult[T] = (
            None,
            describe_drop("unfinished", "the reply was cut at its limit of tokens"),
        )
        value, outcome = sample.read(completion.text) if completion.finished else cut
        self._record_step(
            Step(
                reply=Message("assistant", completion.text),
                answers=(),
                tokens=Tokens(
                    completion.prompt_tokens, completion.cached_tokens, completion.completion_tokens
                ),
                seconds=self.duration,
                token_ids=completion.token_ids,
                finished=completion.finished,
                malformed=value is None,
                prompt=sample.prompt,
                stage=sample.stage,
                outcome=json.dumps(outcome),
            )
        )
        return [] if value is None else [value]

    def _record_step(self, step: Step) -> None:
        self.steps.append(step)
        self.on_step(step)


def describe_drop(kind: str, why: str) -> dict[str, str]:
    """Return the JSON object that a step records as its outcome when the reply is not used.

    `kind` is the problem as a short name such as `no_file`, and `why` says it in words.
    """
    return {"dropped": kind, "why": why}


def _build_failed_step(sample: Sample[T], error: EngineError, seconds: float) -> Step:
    """Build the step of a request that got no reply."""
    return Step(
        reply=Message("assistant", ""),
        answers=(),
        tokens=Tokens(),
        seconds=seconds,
        finished=False,
        prompt=sample.prompt,
        stage=sample.stage,
        outcome=json.dumps(
            describe_drop("late" if isinstance(error, EngineTimeout) else "engine", str(error))
        ),
    )
