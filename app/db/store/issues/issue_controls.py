"""Store what people decide for one issue by command, and for all repositories of an organisation by its default settings."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import delegations, evaluations, groups, repositories
from app.values.identifiers import IssueNumber, RepositoryId, RepositoryRef

_DEFAULTS: Final = ".github"
"""Name of the repository whose settings file is the default of its owner's other repositories."""


def set_pause(connection: Connection, group: int, actor: str | None) -> None:
    """Save that `actor` stopped automatic judging of the group with the id `group`; None: it goes on."""
    connection.execute(update(groups).where(groups.c.id == group).values(paused_by=actor))


def find_pause(connection: Connection, number: RepositoryId, issue: IssueNumber) -> str | None:
    """Return the login of the person who paused the issue in repository `number`; None: it is not paused."""
    return connection.scalar(
        select(groups.c.paused_by).where(
            groups.c.repository_id == number, groups.c.issue_number == issue
        )
    )


def delegate(connection: Connection, group: int, logins: Sequence[str], actor: str) -> None:
    """Save that `actor` lets the people `logins`, in lower case, use commands on the issue of a group."""
    for login in logins:
        connection.execute(
            insert(delegations)
            .values(group_id=group, login=login, actor=actor)
            .on_conflict_do_nothing()
        )


def end_delegation(connection: Connection, group: int, logins: Sequence[str]) -> None:
    """Take the commands on the issue of a group from the people `logins` again."""
    connection.execute(
        delete(delegations).where(delegations.c.group_id == group, delegations.c.login.in_(logins))
    )


def list_delegates(connection: Connection, group: int) -> list[str]:
    """List the logins of the people who may use commands on the issue of a group, in order."""
    query = select(delegations.c.login).where(delegations.c.group_id == group)
    return list(connection.scalars(query.order_by(delegations.c.login)))


def is_delegate(
    connection: Connection, number: RepositoryId, issue: IssueNumber, login: str
) -> bool:
    """Return whether somebody let the person `login` use commands on an open issue of repository `number`."""
    query = (
        select(delegations.c.login)
        .join(groups, groups.c.id == delegations.c.group_id)
        .where(
            groups.c.repository_id == number,
            groups.c.issue_number == issue,
            groups.c.state == "open",
            delegations.c.login == login.lower(),
        )
    )
    return connection.scalar(query) is not None


def count_evaluations_today(connection: Connection, group: int) -> int:
    """Count the evaluations of a group since midnight UTC."""
    query = select(func.count()).where(
        evaluations.c.group_id == group,
        evaluations.c.created_at >= func.date_trunc("day", func.now(), "UTC"),
    )
    return int(connection.scalar(query) or 0)


def find_default_source(connection: Connection, ref: RepositoryRef) -> RepositoryRef | None:
    """Return the repository `.github` of the owner of `ref` in the same installation; None if there is none."""
    table = repositories.c
    owner = ref.full_name.lower().partition("/")[0]
    row = connection.execute(
        select(table.id, table.full_name).where(
            table.installation_id == ref.installation,
            func.lower(table.full_name) == f"{owner}/{_DEFAULTS}",
        )
    ).first()
    return None if row is None else RepositoryRef(ref.installation, row.id, row.full_name)


def refresh_default(connection: Connection, ref: RepositoryRef) -> None:
    """Copy the organisation's default to a repository; from the repository `.github` itself, copy it to all others.

    Each repository holds a copy, because workers without GitHub's key see the row of one repository only.
    """
    table = repositories.c
    owner, _, name = ref.full_name.lower().partition("/")
    source = (
        select(table.config_text)
        .where(
            table.installation_id == ref.installation,
            func.lower(table.full_name) == f"{owner}/{_DEFAULTS}",
        )
        .limit(1)
    )
    of_owner = func.lower(table.full_name).startswith(f"{owner}/", autoescape=True)
    is_copy = (
        (table.installation_id == ref.installation) & of_owner
        if name == _DEFAULTS
        else table.id == ref.id
    )
    is_source = func.lower(table.full_name) == f"{owner}/{_DEFAULTS}"
    connection.execute(
        update(repositories)
        .where(is_copy, ~is_source)
        .values(default_text=source.scalar_subquery())
    )
