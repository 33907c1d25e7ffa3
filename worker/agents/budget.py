"""Reserve an agent's cost from its repository's budget, and record what the agent uses."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection

from app.db.store.alternatives import attempts
from app.db.store.alternatives.attempts import AttemptRecord
from app.policy.alternative_policy import Cost, get_remaining_budget, has_budget
from app.settings.repo_config import RepoConfig
from app.values.identifiers import RepositoryId
from model.agents.trajectories.trajectory import Attempt, Step
from model.domain import EngineInfo, Tokens
from worker.queue.errors import Postponed


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """The time and token limits of one agent process, for all its attempts together."""

    seconds: float = 1_800.0
    """After this time attempts end themselves, between two replies."""
    grace_seconds: float = 120.0
    """More time for the present reply; then the process is killed."""
    tokens: int = 4_000_000
    """Read and sampled tokens by the engine's count. A request that could exceed them is refused, and
    its attempt ends."""


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
    """Tokens that the budget pays for (`MeteredEngine.token_cost`)."""
    is_exhausted: bool = False
    """True when a request was refused because the token limit was reached."""
    finished: tuple[Attempt, ...] = ()
    """Finished attempts in the order of their seeds."""
    _told: dict[int, tuple[int, Tokens]] = field(default_factory=dict)
    """Number of steps and their tokens, by attempt."""
    _began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Return the seconds since the attempts began."""
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
        """Build one record per attempt. An unfinished attempt gets the given `stop` and reason."""
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


_TURN_SECONDS: Final = 120.0
"""Delay before the job checks the budget again."""


@dataclass(frozen=True, slots=True)
class BudgetReservation:
    """The budget that one agent process may use."""

    id: int
    """The row in `agent_runs`."""
    limits: AgentLimits


def reserve_budget(
    connection: Connection,
    repository: RepositoryId,
    config: RepoConfig,
    attempts_together: int,
    *,
    may_postpone: bool,
) -> BudgetReservation | None:
    """Reserve budget for attempts that run in parallel, or return None when nothing is left.

    Raises Postponed when running agents hold the rest of the budget and may return some of it, if `may_postpone`.
    """
    attempts.lock_budget(connection, repository)
    left = get_remaining_budget(
        config, attempts.sum_cost(connection, repository, include_running=True)
    )
    if left.tokens and left.seconds:
        limits = _split_budget(left, attempts_together)
        most = Cost(limits.tokens, limits.seconds * attempts_together)
        return BudgetReservation(attempts.begin_run(connection, repository, most), limits)
    if may_postpone and has_budget(config, attempts.sum_cost(connection, repository)):
        why = "running agents hold the rest of this repository's budget"
        raise Postponed(why, after_seconds=_TURN_SECONDS)
    return None


def _split_budget(left: Cost, attempts_together: int) -> AgentLimits:
    """Divide the remaining budget; parallel attempts get the same time each (pure)."""
    usual = AgentLimits()
    return AgentLimits(
        seconds=min(usual.seconds, left.seconds / attempts_together),
        tokens=min(usual.tokens, left.tokens),
    )
