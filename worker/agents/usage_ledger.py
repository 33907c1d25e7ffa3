"""What attempts side by side have cost by now, whoever ends them: the engine's tokens, and our own clock's seconds."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.db.store.alternatives.attempts import Record
from app.policy.alternative_policy import Spent
from model.agents.trajectories.trajectory import Attempt, Step
from model.domain import EngineInfo, Tokens


@dataclass(slots=True)
class Bill:
    """Of attempts, by their place. Only sums are kept of their steps."""

    agent: str
    engine: EngineInfo
    seeds: Sequence[int]
    tokens: int = 0
    """What a budget is charged (`Till.cost`)."""
    is_used_up: bool = False
    """The engine was asked for more than could be paid."""
    finished: tuple[Attempt, ...] = ()
    """In the order of their seeds; all are here when the work has come to its end."""
    _told: dict[int, tuple[int, Tokens]] = field(default_factory=dict)
    """How many steps, and what those had."""
    _began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since the work began."""
        return time.monotonic() - self._began

    @property
    def cost(self) -> Spent:
        """Attempts side by side cost the time of each."""
        return Spent(self.tokens, self.seconds * len(self.seeds))

    def add(self, at: int, step: Step) -> int:
        """One more step of one of them. Returns how many that makes."""
        count, had = self._told.get(at, (0, Tokens()))
        more = step.tokens
        told = Tokens(
            had.prompt + more.prompt,
            had.cached + more.cached,
            had.completion + more.completion,
        )
        self._told[at] = (count + 1, told)
        return count + 1

    def records(self, stop: str, why: str) -> tuple[Record, ...]:
        """Those that were over, and what is known of the others."""
        whole = {one.trajectory.seed: Record.of(one) for one in self.finished}
        return tuple(
            whole.get(seed) or self._unfinished(at, stop, why) for at, seed in enumerate(self.seeds)
        )

    def _unfinished(self, at: int, stop: str, why: str) -> Record:
        steps, tokens = self._told.get(at, (0, Tokens()))
        return Record(
            agent=self.agent,
            engine=self.engine,
            seed=self.seeds[at],
            stop=stop,
            steps=steps,
            tokens=tokens,
            seconds=self.seconds,
            failure=why,
        )
