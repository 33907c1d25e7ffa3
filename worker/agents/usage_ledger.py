"""What attempts side by side have cost by now, whoever ends them: the engine's tokens, and our own clock's seconds."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.db.store.alternatives.attempts import AttemptRecord
from app.policy.alternative_policy import Cost
from model.agents.trajectories.trajectory import Attempt, Step
from model.domain import EngineInfo, Tokens


@dataclass(slots=True)
class UsageLedger:
    """The cost of parallel attempts so far: tokens by the engine's count, seconds by the worker's
    clock.

    Attempts are numbered by the position of their seed. The ledger keeps only sums of their steps.
    """

    agent: str
    engine: EngineInfo
    seeds: Sequence[int]
    tokens: int = 0
    """Tokens that the budget pays for (`MeteredEngine.charged_tokens`)."""
    is_exhausted: bool = False
    """True when a request was refused because the token limit was reached."""
    finished: tuple[Attempt, ...] = ()
    """Finished attempts in the order of their seeds."""
    _told: dict[int, tuple[int, Tokens]] = field(default_factory=dict)
    """Number of steps and their tokens, by attempt."""
    _began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Return the seconds since the work began."""
        return time.monotonic() - self._began

    @property
    def cost(self) -> Cost:
        """Return the cost; parallel attempts each cost the elapsed time."""
        return Cost(self.tokens, self.seconds * len(self.seeds))

    def add_step(self, attempt: int, step: Step) -> int:
        """Add one step of an attempt and return the attempt's number of steps."""
        count, sums = self._told.get(attempt, (0, Tokens()))
        added = step.tokens
        tokens = Tokens(
            sums.prompt + added.prompt,
            sums.cached + added.cached,
            sums.completion + added.completion,
        )
        self._told[attempt] = (count + 1, tokens)
        return count + 1

    def build_records(self, stop: str, why: str) -> tuple[AttemptRecord, ...]:
        """Build a record per attempt; an unfinished one gets the given `stop` and reason."""
        finished = {
            attempt.trajectory.seed: AttemptRecord.from_attempt(attempt)
            for attempt in self.finished
        }
        return tuple(
            finished.get(seed) or self._build_unfinished(index, stop, why)
            for index, seed in enumerate(self.seeds)
        )

    def _build_unfinished(self, attempt: int, stop: str, why: str) -> AttemptRecord:
        steps, tokens = self._told.get(attempt, (0, Tokens()))
        return AttemptRecord(
            agent=self.agent,
            engine=self.engine,
            seed=self.seeds[attempt],
            stop=stop,
            steps=steps,
            tokens=tokens,
            seconds=self.seconds,
            failure=why,
        )
