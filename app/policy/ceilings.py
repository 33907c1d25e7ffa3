"""Decides what the operator's ceilings allow an issue, a repository and an installation (pure).

A ceiling is the most that the operator lets one issue, repository or installation use, such as evaluations a day.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.policy.group_policy import CandidateFacts, select_judgeable
from app.policy.rival_links import LinkStrength
from app.settings import CeilingSettings
from app.settings.repo_config import RepoConfig
from app.values.identifiers import PullNumber

_AFTER_MIDNIGHT: Final = timedelta(seconds=5)
"""Waited after midnight: the database's clock, which decides what counts as today, may be behind the worker's."""


@dataclass(frozen=True, slots=True)
class DailyUsage:
    """Evaluations and tokens since midnight UTC, of a repository and of its whole installation."""

    repository_evaluations: int = 0
    installation_evaluations: int = 0
    repository_tokens: int = 0
    installation_tokens: int = 0


def override_ceilings(ceilings: CeilingSettings, limits: Mapping[str, int]) -> CeilingSettings:
    """Return the ceilings of one installation: the operator's `ceilings`, with the installation's own `limits`.

    `limits` holds numbers by the name of a ceiling. A ceiling that it does not name keeps the operator's number.
    """
    own = {name: limits[name] for name in CeilingSettings.model_fields if name in limits}
    return ceilings.model_copy(update=own)


def clip_config(config: RepoConfig, ceilings: CeilingSettings) -> RepoConfig:
    """Return a repository's settings with the votes and the agents' tokens that the ceilings allow."""
    most = ceilings.max_tokens_per_repository_day
    budget = config.alternatives_budget
    return config.model_copy(
        update={
            "votes": min(config.votes, ceilings.max_votes),
            "alternatives_budget": budget.model_copy(update={"tokens": min(budget.tokens, most)}),
        }
    )


def select_excess_pulls(
    config: RepoConfig,
    candidates: Sequence[CandidateFacts],
    strengths: Mapping[PullNumber, LinkStrength],
    limit: int,
) -> frozenset[PullNumber]:
    """Return the judgeable pull requests beyond `limit`, which the bot leaves out.

    Pull requests that only a command lets the bot judge are left out first, so that strangers displace nobody. Then the
    weakest links are left out first, and of equal links the newest pull request.
    """
    without_command = frozenset(select_judgeable(config, candidates, commanded=False))
    ranked = sorted(
        select_judgeable(config, candidates, commanded=True),
        key=lambda pull: (pull not in without_command, strengths[pull].rank, pull),
    )
    return frozenset(ranked[limit:])


def explain_excess(limit: int) -> str:
    """Return the reason why a pull request beyond the operator's `limit` is left out."""
    return f"the bot compares at most {limit} pull requests of an issue"


def explain_issue_limit(limit: int) -> str:
    """Return the reason why an issue's next evaluation without a command waits for the next day."""
    return (
        f"`evaluations_per_day` in this repository's settings allows {limit:,} for an issue without a command,"
        " and the bot goes on after midnight UTC"
    )


def explain_reached_ceiling(
    ceilings: CeilingSettings, usage: DailyUsage, *, is_commanded: bool
) -> str | None:
    """Return which of today's ceilings is reached, in words for people; None if an evaluation may start.

    `is_commanded` says that a person with the right asked for it. A fifth of each ceiling is kept for such evaluations,
    so that pushes cannot use up the day.
    """
    rest = "" if is_commanded else " except the fifth for commands"
    evaluations = [
        ("repository", usage.repository_evaluations, ceilings.max_evaluations_per_repository_day),
        (
            "installation",
            usage.installation_evaluations,
            ceilings.max_evaluations_per_installation_day,
        ),
    ]
    tokens = [
        ("repository", usage.repository_tokens, ceilings.max_tokens_per_repository_day),
        ("installation", usage.installation_tokens, ceilings.max_tokens_per_installation_day),
    ]
    table = [("evaluations", *row) for row in evaluations] + [("tokens", *row) for row in tokens]
    for what, whose, used, most in table:
        if used >= (most if is_commanded else most - most // 5):
            return (
                f"the operator's daily budget of {most:,} {what} for this {whose} is used up{rest},"
                " and the bot goes on after midnight UTC"
            )
    return None


def count_seconds_until_tomorrow(now: datetime) -> float:
    """Return the seconds from `now`, in UTC, until shortly after the next midnight."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (midnight + _AFTER_MIDNIGHT - now).total_seconds()
