"""What an agent's process may cost is taken from its repository's budget before it starts."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from app.db.store.alternatives import attempts
from app.policy.alternative_policy import Spent, has_budget, remaining
from app.settings.repo_config import RepoConfig
from app.values.identifiers import RepositoryId
from worker.agents.agent_process import AgentLimits
from worker.queue.errors import Postponed

_TURN_SECONDS: Final = 120.0
"""Until it is looked again whether agents at work have left anything."""


@dataclass(frozen=True, slots=True)
class Run:
    """One agent's process: its row on the bill, and what it may cost."""

    id: int
    limits: AgentLimits


def begun(
    connection: Connection,
    repository: RepositoryId,
    config: RepoConfig,
    together: int,
    *,
    waits: bool,
) -> Run | None:
    """Take what attempts side by side may cost from what is left; None: nothing is left.

    Raises Postponed, where it `waits`, when only agents that are at work now have left nothing.
    """
    attempts.lock_budget(connection, repository)
    left = remaining(config, attempts.spent(connection, repository, at_work=True))
    if left.tokens and left.seconds:
        limits = _limits(left, together)
        most = Spent(limits.tokens, limits.seconds * together)
        return Run(attempts.begin_run(connection, repository, most), limits)
    if waits and has_budget(config, attempts.spent(connection, repository)):
        why = "agents at work in this repository may use its budget up"
        raise Postponed(why, after_seconds=_TURN_SECONDS)
    return None


def _limits(left: Spent, attempts_together: int) -> AgentLimits:
    """Of the budget attempts side by side get the same time each (pure)."""
    usual = AgentLimits()
    return AgentLimits(
        seconds=min(usual.seconds, left.seconds / attempts_together),
        tokens=min(usual.tokens, left.tokens),
    )
