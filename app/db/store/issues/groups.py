"""Store groups: an issue, the pull requests that may resolve it, and their links."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import group_members, groups, installations, pull_requests, repositories
from app.github.facts import PullRequest
from app.policy.event_policy import is_served
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
    """A repository as stored, with its settings file. `suspended` is the state of its installation.

    `config_text` is the last valid `.github/r4p.yml`, and `default_text` the organisation's default (None: none).
    `config_error` says why the newest file is not used (None: no error).
    """

    ref: RepositoryRef
    config_text: str | None
    config_error: str | None
    suspended: bool
    default_text: str | None = None


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A pull request that a link or a command put into a group, or that a command removed from it.

    `strength` tells how the pull request is linked to the issue; None if only a command put it into the table.
    """

    pull: PullNumber
    strength: str | None
    forced: bool | None
    """True when a command added it, False when a command removed it, None otherwise."""


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A stored group: its row id, and in `waiting` why it gets no verdict now (None: nothing prevents it)."""

    id: int
    waiting: str | None


def load_repository(connection: Connection, number: RepositoryId) -> StoredRepository | None:
    """Load the repository with the id `number`; None when the App is not installed on it."""
    row = connection.execute(
        select(
            repositories.c.installation_id,
            repositories.c.id,
            repositories.c.full_name,
            repositories.c.config_text,
            repositories.c.config_error,
            repositories.c.default_text,
            installations.c.suspended_at,
        )
        .join(installations, installations.c.id == repositories.c.installation_id)
        .where(repositories.c.id == number)
    ).one_or_none()
    if row is None:
        return None
    ref = RepositoryRef(row.installation_id, number, row.full_name)
    suspended = row.suspended_at is not None
    return StoredRepository(ref, row.config_text, row.config_error, suspended, row.default_text)


def load_active_repository(connection: Connection, number: RepositoryId) -> StoredRepository | None:
    """Load the repository with the id `number`; None when the App is suspended or not installed on it."""
    stored = load_repository(connection, number)
    return None if stored is None or stored.suspended else stored


def save_config(
    connection: Connection, number: RepositoryId, *, text: str | None, error: str | None
) -> None:
    """Save the settings file `.github/r4p.yml` of the repository with the id `number`.

    `text` is the content of the file in use; None: no file. `error` says why the newest file is not used; None: it is.
    """
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
    """Insert or update the group of issue number `issue` in repository `number`, and return the group's id.

    `text` is the issue's title and body, and `state` its state on GitHub: `open` or `closed`.
    """
    values = {"title": text[0], "body": text[1], "state": state, "read_at": func.now()}
    statement = (
        insert(groups)
        .values(repository_id=number, issue_number=issue, **values)
        .on_conflict_do_update(index_elements=["repository_id", "issue_number"], set_=values)
        .returning(groups.c.id)
    )
    return int(connection.execute(statement).scalar_one())


def find_group(connection: Connection, number: RepositoryId, issue: IssueNumber) -> GroupRow | None:
    """Return the group of issue number `issue` in repository `number`; None if none is stored yet."""
    row = connection.execute(
        select(groups.c.id, groups.c.waiting).where(
            groups.c.repository_id == number, groups.c.issue_number == issue
        )
    ).one_or_none()
    return None if row is None else GroupRow(row.id, row.waiting)


def set_waiting(connection: Connection, group: int, reason: str | None) -> None:
    """Save the `reason` why the group with id `group` gets no verdict now; None clears it."""
    connection.execute(groups.update().where(groups.c.id == group).values(waiting=reason))


def upsert_pulls(
    connection: Connection, number: RepositoryId, pulls: Sequence[PullRequest]
) -> None:
    """Insert or update pull requests of the repository with the id `number`, as GitHub described them."""
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


def list_authors(
    connection: Connection, number: RepositoryId, pulls: Collection[PullNumber]
) -> dict[PullNumber, str]:
    """Return the logins of the authors of `pulls` in repository `number`, without accounts that are gone."""
    table = pull_requests.c
    rows = connection.execute(
        select(table.number, table.author).where(
            table.repository_id == number, table.number.in_(pulls), table.author.is_not(None)
        )
    )
    return {PullNumber(row.number): row.author for row in rows}


def list_members(connection: Connection, group: int) -> list[MemberRow]:
    """List the pull requests of the group with id `group`, by number, with those that a command removed."""
    rows = connection.execute(
        select(group_members)
        .where(group_members.c.group_id == group)
        .order_by(group_members.c.pull_number)
    )
    return [MemberRow(row.pull_number, row.strength, row.forced) for row in rows]


def save_links(
    connection: Connection, group: int, links: Sequence[tuple[PullNumber, str | None]]
) -> None:
    """Save which pull requests link to the issue of the group with id `group`, and delete members without a link.

    `links` pairs the number of a pull request with its link strength, None for one that only a command added. Members
    that a command added or removed stay.
    """
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
    """Record that a command added pull requests to a group (`member` True) or removed them (False).

    `group` is the group's id, and `pulls` are their numbers.
    """
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
    """List the numbers of the issues whose groups contain pull request `pull` of repository `number`, ascending.

    Groups from which a command removed the pull request are left out.
    """
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
    """Return the id of the group of issue number `issue` in repository `number`; create it if needed.

    The group's row stays locked until the transaction ends.
    """
    connection.execute(
        insert(groups)
        .values(repository_id=number, issue_number=issue)
        .on_conflict_do_nothing(index_elements=["repository_id", "issue_number"])
    )
    statement = select(groups.c.id).where(
        groups.c.repository_id == number, groups.c.issue_number == issue
    )
    return int(connection.execute(statement.with_for_update()).scalar_one())


def list_known_pulls(connection: Connection, number: RepositoryId) -> frozenset[PullNumber]:
    """Return the numbers of all stored pull requests of repository `number`."""
    rows = connection.scalars(
        select(pull_requests.c.number).where(pull_requests.c.repository_id == number)
    )
    return frozenset(map(PullNumber, rows))


def list_heads(connection: Connection, number: RepositoryId) -> dict[PullNumber, CommitSha]:
    """Return the last stored head commits of the pull requests of repository `number`, by pull request number.

    Only pull requests that belong to a group are included.
    """
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


def list_active_repositories(
    connection: Connection, accounts: Collection[str] = ()
) -> list[tuple[InstallationId, RepositoryId]]:
    """List (installation id, repository id) of each repository whose installation is not suspended.

    `accounts` holds logins of owners and ids of installations; without any, all installations are listed.
    """
    rows = connection.execute(
        select(repositories.c.installation_id, repositories.c.id, installations.c.account)
        .join(installations, installations.c.id == repositories.c.installation_id)
        .where(installations.c.suspended_at.is_(None))
        .order_by(repositories.c.id)
    )
    return [
        (row.installation_id, row.id)
        for row in rows
        if is_served(accounts, row.account, row.installation_id)
    ]
