"""Reserve an agent's cost from its repository's budget, and measure what the agent used."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from app.db.store.alternatives import attempts
from app.policy.alternative_policy import Cost, get_remaining_budget, has_budget
from app.settings.repo_config import RepoConfig
from app.values.identifiers import RepositoryId
from worker.agents.agent_process import AgentLimits
from worker.queue.errors import Postponed

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

    Raises Postponed, if `may_postpone`, when running agents hold the rest of the budget and may
    return some.
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
        why = "agents at work in this repository may use its budget up"
        raise Postponed(why, after_seconds=_TURN_SECONDS)
    return None


def _split_budget(left: Cost, attempts_together: int) -> AgentLimits:
    """Divide the remaining budget; parallel attempts get the same time each (pure)."""
    usual = AgentLimits()
    return AgentLimits(
        seconds=min(usual.seconds, left.seconds / attempts_together),
        tokens=min(usual.tokens, left.tokens),
    )
