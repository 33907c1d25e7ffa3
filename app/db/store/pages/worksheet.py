"""Read the open groups of repositories, with their newest verdicts and earlier attempts."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row

from app.values.identifiers import InstallationId, RepositoryId

_EARLIER: Final = 10
"""Closed attempts of one group that the worksheet lists."""


@dataclass(frozen=True, slots=True)
class PageRepository:
    """A repository by its id and its name."""

    id: RepositoryId
    installation: InstallationId
    full_name: str


@dataclass(frozen=True, slots=True)
class RivalRow:
    """A pull request of a group, with the newest verdict on it; None: not judged yet."""

    number: int
    state: str
    author: str | None
    verdict: str | None
    probability: float | None


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """An open issue, its pull requests and the state of its newest evaluation."""

    id: int
    repository: str
    """`owner/name`"""
    issue: int
    title: str
    waiting: str | None
    """Why the group gets no verdict now; None: no obstacle."""
    state: str | None
    """State of the newest evaluation; None: there is none."""
    mode: str | None
    failure: str | None
    judged_at: datetime | None
    rivals: tuple[RivalRow, ...]
    """Open pull requests by number."""
    earlier: tuple[RivalRow, ...]
    """Closed and merged pull requests, newest first."""


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What a repository used since midnight UTC."""

    installation: InstallationId
    repository: str
    evaluations: int
    tokens: int


# The newest evaluation of a group that holds a verdict, or will hold one.
_NEWEST: Final = """
left join lateral (
    select id, state, mode, failure, verified_at from evaluations
    where group_id = groups.id and state <> 'superseded' order by id desc limit 1) as newest on true
"""
_OPEN: Final = f"""
select groups.id, full_name, issue_number, title, waiting, newest.id as evaluation, newest.state, newest.mode,
    newest.failure, newest.verified_at
from groups join repositories on repositories.id = groups.repository_id {_NEWEST}
where groups.repository_id = any(%(repositories)s) and groups.state = 'open' and exists (
    select from group_members where group_id = groups.id and forced is distinct from false)
order by groups.read_at desc, groups.id desc limit %(limit)s offset %(offset)s
"""
_RIVALS: Final = """
select chosen.id, pull_requests.number, pull_requests.state, author, judged.verdict, judged.probability
from unnest(%(groups)s::bigint[], %(evaluations)s::bigint[]) as chosen(id, evaluation)
join groups on groups.id = chosen.id
join group_members on group_members.group_id = chosen.id and forced is distinct from false
join pull_requests on pull_requests.repository_id = groups.repository_id
    and pull_requests.number = group_members.pull_number
left join lateral (
    select verdict, probability from evaluation_candidates join candidates on candidates.id = candidate_id
    where evaluation_id = chosen.evaluation and candidates.pull_number = pull_requests.number
    limit 1) as judged on true
order by chosen.id, pull_requests.number
"""
_USAGE: Final = """
select installation_id, full_name, sum(evaluations)::bigint as evaluations, sum(tokens)::bigint as tokens from (
    select groups.repository_id, 1 as evaluations, (moved_from is null)::int * coalesce(
        (verdict #>> '{tokens,prompt}')::bigint - (verdict #>> '{tokens,cached}')::bigint
        + (verdict #>> '{tokens,completion}')::bigint, 0) as tokens
    from evaluations join groups on groups.id = evaluations.group_id
    where evaluations.created_at >= date_trunc('day', now(), 'UTC') and repository_id = any(%(repositories)s)
    union all
    select repository_id, 0, tokens from agent_runs
    where created_at >= date_trunc('day', now(), 'UTC') and repository_id = any(%(repositories)s)) as used
join repositories on repositories.id = repository_id
group by installation_id, full_name order by tokens desc, evaluations desc, full_name limit 20
"""


def list_repositories(connection: Connection, ids: Sequence[int]) -> tuple[PageRepository, ...]:
    """List those of the repositories `ids` that the bot knows, by name."""
    rows = connection.exec_driver_sql(
        "select id, installation_id, full_name from repositories where id = any(%(ids)s) order by full_name",
        {"ids": list(ids)},
    )
    return tuple(PageRepository(row.id, row.installation_id, row.full_name) for row in rows)


def list_open_groups(
    connection: Connection, repositories: Sequence[int], limit: int, offset: int
) -> tuple[tuple[GroupSummary, ...], bool]:
    """List open groups of `repositories`, the ones read last first, and return whether there are more."""
    values = {"repositories": list(repositories), "limit": limit + 1, "offset": offset}
    rows = connection.exec_driver_sql(_OPEN, values).all()
    shown = rows[:limit]
    members = _list_rivals(connection, shown)
    return tuple(_build_summary(row, members[row.id]) for row in shown), len(rows) > limit


def list_usage(connection: Connection, repositories: Sequence[int]) -> tuple[UsageRow, ...]:
    """List what the repositories used today, the largest users first, at most 20."""
    rows = connection.exec_driver_sql(_USAGE, {"repositories": list(repositories)})
    return tuple(UsageRow(*row) for row in rows)


def _list_rivals(
    connection: Connection, rows: Sequence[Row[Any]]
) -> defaultdict[int, list[RivalRow]]:
    members: defaultdict[int, list[RivalRow]] = defaultdict(list)
    values = {"groups": [row.id for row in rows], "evaluations": [row.evaluation for row in rows]}
    for row in connection.exec_driver_sql(_RIVALS, values):
        members[row.id].append(RivalRow(*tuple(row)[1:]))
    return members


def _build_summary(row: Row[Any], members: list[RivalRow]) -> GroupSummary:
    ended = [member for member in members if member.state != "open"]
    return GroupSummary(
        id=row.id,
        repository=row.full_name,
        issue=row.issue_number,
        title=row.title,
        waiting=row.waiting,
        state=row.state,
        mode=row.mode,
        failure=row.failure,
        judged_at=row.verified_at,
        rivals=tuple(member for member in members if member.state == "open"),
        earlier=tuple(reversed(ended))[:_EARLIER],
    )
