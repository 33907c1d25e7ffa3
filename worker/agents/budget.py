"""Reserve an agent's cost from its repository's budget, and record what the agent uses."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection

from app.db.store.alternatives import attempts
from app.db.store.alternatives.attempts import AttemptRecord
from app.db.store.issues.groups import StoredRepository
from app.policy.alternative_policy import Cost, get_remaining_budget, has_budget
from app.policy.ceilings import clip_config, override_ceilings
from app.settings import CeilingSettings
from app.settings.repo_config import RepoConfig
from app.values.identifiers import RepositoryId
from model.agents.trajectories.trajectory import Attempt, Step
from model.domain import EngineInfo, Tokens
from worker.queue.errors import Postponed
from worker.repositories.repository_config import parse_last_good


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """The time and token limits of one agent process, for all its attempts together."""

    seconds: float = 1_800.0
    """Time after which each attempt ends itself, between two replies of the engine."""
    grace_seconds: float = 120.0
    """Extra time for the reply in progress; after it the worker kills the process."""
    tokens: int = 4_000_000
    """Most tokens that the engine reads and samples, without cached ones.

    A request that could exceed them is refused, and its attempt ends.
    """


@dataclass(slots=True)
class UsageLedger:
    """The cost of parallel attempts so far: tokens by the engine's count, seconds by the worker's clock.

    Methods name an attempt by the position of its seed in `seeds`. Of an attempt's steps the ledger keeps only their
    count and their tokens.
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
    _steps: dict[int, tuple[int, Tokens]] = field(default_factory=dict)
    """Number of steps and their tokens, by attempt."""
    _began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Return the seconds since this ledger was created, which is when the attempts began."""
        return time.monotonic() - self._began

    @property
    def cost(self) -> Cost:
        """Return the cost of all attempts so far: the tokens, and the elapsed seconds times the number of attempts."""
        return Cost(self.tokens, self.seconds * len(self.seeds))

    def add_step(self, attempt: int, step: Step) -> int:
        """Count one more step and its tokens for `attempt` (the position of its seed); return its number of steps."""
        count, sums = self._steps.get(attempt, (0, Tokens()))
        added = step.tokens
        tokens = Tokens(
            sums.prompt + added.prompt,
            sums.cached + added.cached,
            sums.completion + added.completion,
        )
        self._steps[attempt] = (count + 1, tokens)
        return count + 1

    def build_records(self, stop: str, why: str) -> tuple[AttemptRecord, ...]:
        """Build the record of each attempt for the database, in the order of the seeds; save nothing.

        An attempt that has not finished gets `stop` as the way in which it ended, and `why` as its failure.
        """
        finished = {
            attempt.trajectory.seed: AttemptRecord.from_attempt(attempt)
            for attempt in self.finished
        }
        return tuple(
            finished.get(seed) or self._build_unfinished(index, stop, why)
            for index, seed in enumerate(self.seeds)
        )

    def _build_unfinished(self, attempt: int, stop: str, why: str) -> AttemptRecord:
        steps, tokens = self._steps.get(attempt, (0, Tokens()))
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
    """The part of a repository's daily agent budget that is reserved for one agent process."""

    id: int
    """Id of the reservation's row in the table `agent_runs`."""
    limits: AgentLimits


def reserve_budget(
    connection: Connection,
    repository: RepositoryId,
    config: RepoConfig,
    attempts_together: int,
    *,
    may_postpone: bool,
) -> BudgetReservation | None:
    """Reserve a part of a repository's budget for parallel attempts, or return None when nothing is left.

    `config` holds the budget, and `attempts_together` is the number of these attempts. When running agents hold the
    rest of the budget and may return some of it, this raises Postponed if `may_postpone` is True.
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


def clip_to_limits(
    stored: StoredRepository, ceilings: CeilingSettings, own_limits: Mapping[str, int]
) -> RepoConfig:
    """Parse a repository's settings file, and clip its budget to the ceilings or its installation's own limits."""
    return clip_config(parse_last_good(stored), override_ceilings(ceilings, own_limits))


def _split_budget(left: Cost, attempts_together: int) -> AgentLimits:
    """Divide the remaining budget; parallel attempts get the same time each (pure)."""
    usual = AgentLimits()
    return AgentLimits(
        seconds=min(usual.seconds, left.seconds / attempts_together),
        tokens=min(usual.tokens, left.tokens),
    )
