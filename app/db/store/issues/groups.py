"""Store groups: an issue, the pull requests that may resolve it, and their links."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import group_members, groups, installations, pull_requests, repositories
from app.github.facts import PullRequest
from app.values.identifiers import (
    CommitSha,
    InstallationId,
    IssueNumber,
    PullNumber,
    RepositoryId,
    RepositoryRef,
)


@dataclass(frozen=True, slots=True)
class StoredRepository:
    """A repository as stored, with the text and the errors of its settings file."""

    ref: RepositoryRef
    config_text: str | None
    config_error: str | None
    suspended: bool


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A pull request of a group.

    `strength` is None if only a command put it there, and nothing links it to the issue.
    """

    pull: PullNumber
    strength: str | None
    forced: bool | None
    """True when a command added it, False when a command removed it, None otherwise."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group as stored: its id, and why it waits for a verdict."""

    id: int
    waiting: str | None


def load_repository(connection: Connection, number: RepositoryId) -> StoredRepository | None:
    """Load a repository with its settings file; None when the App is not installed on it."""
    row = connection.execute(
        select(
            repositories.c.installation_id,
            repositories.c.id,
            repositories.c.full_name,
            repositories.c.config_text,
            repositories.c.config_error,
            installations.c.suspended_at,
        )
        .join(installations, installations.c.id == repositories.c.installation_id)
        .where(repositories.c.id == number)
    ).one_or_none()
    if row is None:
        return None
    ref = RepositoryRef(row.installation_id, number, row.full_name)
    return StoredRepository(ref, row.config_text, row.config_error, row.suspended_at is not None)


def load_active_repository(connection: Connection, number: RepositoryId) -> StoredRepository | None:
    """Load a repository like `load_repository`; None also when its installation is suspended."""
    stored = load_repository(connection, number)
    return None if stored is None or stored.suspended else stored


def save_config(
    connection: Connection, number: RepositoryId, *, text: str | None, error: str | None
) -> None:
    """Save a repository's settings file that is in use (None for none), and the errors of its newest file."""
    connection.execute(
        repositories.update()
        .where(repositories.c.id == number)
        .values(config_text=text, config_error=error)
    )


def upsert_group(
    connection: Connection,
    number: RepositoryId,
    issue: IssueNumber,
    text: tuple[str, str],
    state: str,
) -> int:
    """Insert or update the group of an issue and return its id."""
    values = {"title": text[0], "body": text[1], "state": state}
    statement = (
        insert(groups)
        .values(repository_id=number, issue_number=issue, **values)
        .on_conflict_do_update(index_elements=["repository_id", "issue_number"], set_=values)
        .returning(groups.c.id)
    )
    return int(connection.execute(statement).scalar_one())


def find_group(connection: Connection, number: RepositoryId, issue: IssueNumber) -> GroupRow | None:
    """Return the group of an issue, or None before its first evaluation."""
    row = connection.execute(
        select(groups.c.id, groups.c.waiting).where(
            groups.c.repository_id == number, groups.c.issue_number == issue
        )
    ).one_or_none()
    return None if row is None else GroupRow(row.id, row.waiting)


def set_waiting(connection: Connection, group: int, reason: str | None) -> None:
    """Save why the group gets no verdict now; None clears it."""
    connection.execute(groups.update().where(groups.c.id == group).values(waiting=reason))


def upsert_pulls(
    connection: Connection, number: RepositoryId, pulls: Sequence[PullRequest]
) -> None:
    """Insert or update pull requests."""
    for pull in pulls:
        values = {
            "state": pull.state.value,
            "head_sha": pull.head_sha,
            "base_sha": pull.base_sha,
            "base_ref": pull.base_ref,
            "author": pull.author,
        }
        connection.execute(
            insert(pull_requests)
            .values(repository_id=number, number=pull.number, **values)
            .on_conflict_do_update(index_elements=["repository_id", "number"], set_=values)
        )


def list_members(connection: Connection, group: int) -> list[MemberRow]:
    """List the pull requests of a group by number, also those that a command removed."""
    rows = connection.execute(
        select(group_members)
        .where(group_members.c.group_id == group)
        .order_by(group_members.c.pull_number)
    )
    return [MemberRow(row.pull_number, row.strength, row.forced) for row in rows]


def save_links(
    connection: Connection, group: int, links: Sequence[tuple[PullNumber, str | None]]
) -> None:
    """Save which pull requests link to a group's issue; members forced by commands stay."""
    linked = [pull for pull, _ in links]
    connection.execute(
        delete(group_members).where(
            group_members.c.group_id == group,
            group_members.c.forced.is_(None),
            group_members.c.pull_number.not_in(linked),
        )
    )
    for pull, strength in links:
        connection.execute(
            insert(group_members)
            .values(group_id=group, pull_number=pull, strength=strength)
            .on_conflict_do_update(
                index_elements=["group_id", "pull_number"], set_={"strength": strength}
            )
        )


def force_members(
    connection: Connection, group: int, pulls: Sequence[PullNumber], *, member: bool
) -> None:
    """Add pull requests to a group or remove them, because a command asked for it."""
    for pull in pulls:
        connection.execute(
            insert(group_members)
            .values(group_id=group, pull_number=pull, forced=member)
            .on_conflict_do_update(
                index_elements=["group_id", "pull_number"], set_={"forced": member}
            )
        )


def list_issues_of_pull(
    connection: Connection, number: RepositoryId, pull: PullNumber
) -> list[IssueNumber]:
    """List the issues whose group contains a pull request."""
    rows = connection.scalars(
        select(groups.c.issue_number)
        .join(group_members, group_members.c.group_id == groups.c.id)
        .where(
            groups.c.repository_id == number,
            group_members.c.pull_number == pull,
            group_members.c.forced.is_distinct_from(False),
        )
        .order_by(groups.c.issue_number)
    )
    return list(rows)


def ensure_group(connection: Connection, number: RepositoryId, issue: IssueNumber) -> int:
    """Return the id of an issue's group, creating an empty group if needed."""
    connection.execute(
        insert(groups)
        .values(repository_id=number, issue_number=issue)
        .on_conflict_do_nothing(index_elements=["repository_id", "issue_number"])
    )
    statement = select(groups.c.id).where(
        groups.c.repository_id == number, groups.c.issue_number == issue
    )
    return int(connection.execute(statement.with_for_update()).scalar_one())


def list_heads(connection: Connection, number: RepositoryId) -> dict[PullNumber, CommitSha]:
    """Return the last stored head of each pull request that belongs to a group."""
    in_a_group = (
        select(group_members.c.pull_number)
        .join(groups, groups.c.id == group_members.c.group_id)
        .where(groups.c.repository_id == number, group_members.c.forced.is_distinct_from(False))
    )
    rows = connection.execute(
        select(pull_requests.c.number, pull_requests.c.head_sha).where(
            pull_requests.c.repository_id == number, pull_requests.c.number.in_(in_a_group)
        )
    )
    return {row.number: row.head_sha for row in rows}


def list_active_repositories(connection: Connection) -> list[tuple[InstallationId, RepositoryId]]:
    """List every repository whose installation is not suspended."""
    rows = connection.execute(
        select(repositories.c.installation_id, repositories.c.id)
        .join(installations, installations.c.id == repositories.c.installation_id)
        .where(installations.c.suspended_at.is_(None))
        .order_by(repositories.c.id)
    )
    return [(row.installation_id, row.id) for row in rows]
