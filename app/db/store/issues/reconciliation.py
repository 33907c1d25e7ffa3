"""Store how far the bot has read a repository's changes from GitHub, and find groups that it has not read for long."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Connection, func, select, update

from app.db.tables.schema import groups, jobs, repositories
from app.jobs.job import EvaluateIssue
from app.values.identifiers import InstallationId, IssueNumber, RepositoryId


def load_read_until(connection: Connection, number: RepositoryId) -> datetime | None:
    """Return the time up to which the bot read all changes of repository `number`; None: it never read any."""
    query = select(repositories.c.changes_read_until).where(repositories.c.id == number)
    return connection.scalar(query)


def save_read_until(connection: Connection, number: RepositoryId, moment: datetime) -> None:
    """Save that the bot read all changes of repository `number` up to `moment`."""
    connection.execute(
        update(repositories).where(repositories.c.id == number).values(changes_read_until=moment)
    )


def count_open_groups(
    connection: Connection, installation: InstallationId, number: RepositoryId
) -> tuple[int, int]:
    """Return the number of open groups of repository `number`, and of its whole installation."""
    here = groups.c.repository_id == number
    query = (
        select(func.count().filter(here), func.count())
        .select_from(groups.join(repositories))
        .where(repositories.c.installation_id == installation, groups.c.state == "open")
    )
    row = connection.execute(query).one()
    return row[0], row[1]


def list_unread_issues(
    connection: Connection, number: RepositoryId, before: datetime, limit: int
) -> list[IssueNumber]:
    """List open issues with a group in repository `number` that the bot last read from GitHub before `before`.

    The longest unread comes first, and at most `limit` are listed. Issues whose evaluation waits or runs are left out.
    """
    planned = select(jobs.c.payload["issue"].as_integer()).where(
        jobs.c.repository_id == number,
        jobs.c.kind == EvaluateIssue.kind,
        jobs.c.state.in_(["ready", "running"]),
    )
    query = (
        select(groups.c.issue_number)
        .where(
            groups.c.repository_id == number,
            groups.c.state == "open",
            groups.c.read_at < before,
            groups.c.issue_number.not_in(planned),
        )
        .order_by(groups.c.read_at)
        .limit(limit)
    )
    return list(connection.scalars(query))


def select_grouped(
    connection: Connection, number: RepositoryId, issues: Collection[IssueNumber]
) -> frozenset[IssueNumber]:
    """Return those of the issue numbers `issues` in repository `number` that have a group."""
    query = select(groups.c.issue_number).where(
        groups.c.repository_id == number, groups.c.issue_number.in_(issues)
    )
    return frozenset(connection.scalars(query))
