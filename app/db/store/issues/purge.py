"""Delete all data of an installation or of one of its repositories.

Only the number of a deleted thing is kept, so that a late delivery does not bring it back. A new
installation has a new number; a repository returns by being added.
"""

from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, Connection, Table, delete, exists, func, or_, select, true
from sqlalchemy.dialects.postgresql import insert

from app.db.store.queue import installation_controls, upkeep
from app.db.store.queue import jobs as jobs_store
from app.db.tables.schema import (
    attempts,
    candidates,
    deliveries,
    delivery_bodies,
    etags,
    forgotten,
    installations,
    jobs,
    patches,
    repositories,
    write_limits,
)
from app.jobs.job import ForgetCheckout, PurgeData
from app.values.identifiers import InstallationId, RepositoryId

_ALL = RepositoryId(0)
"""Stands for all repositories of an installation."""


def purge(
    connection: Connection, installation: InstallationId, number: RepositoryId | None
) -> list[RepositoryId]:
    """Delete all stored data of the repository `number`, or of the whole installation when it is None.

    Returns the ids of the deleted repositories. Foreign keys delete the rows that refer to them. The function waits for
    running transactions that store new data of the installation, and deletes this data too. A second call changes
    nothing.
    """
    upkeep.supersede_jobs_of(connection, installation, number)
    connection.execute(select(func.pg_advisory_xact_lock(installation)))
    tombstone = {"installation_id": installation, "repository_id": number or _ALL}
    connection.execute(insert(forgotten).values(**tombstone).on_conflict_do_nothing())
    # Delete jobs before deliveries: a delivery arriving meanwhile must not stay without its job.
    # Keep the running purge itself, and jobs that delete git objects from disks.
    waits = (jobs.c.kind == ForgetCheckout.kind) & (jobs.c.state == "ready")
    idle = (_belongs_to(jobs, installation, number), jobs.c.state != "running", ~waits)
    connection.execute(delete(jobs).where(*idle))
    delete_deliveries(connection, _belongs_to(deliveries, installation, number))
    gone = _list_repositories(connection, installation, number)
    for repository in gone:
        installation_controls.keep_usage(connection, repository)
    if number is None:
        _delete_installation(connection, installation)
    else:
        _delete_repository(connection, installation, number)
    delete_unused_patches(connection, true())
    return gone


def delete_deliveries(connection: Connection, chosen: ColumnElement[bool]) -> None:
    """Delete the webhook deliveries that fulfil the condition `chosen`, with their bodies."""
    key = (deliveries.c.id, deliveries.c.received_at)
    gone = delete(deliveries).where(chosen).returning(*key).cte("gone")
    connection.execute(
        delete(delivery_bodies).where(
            delivery_bodies.c.delivery_id == gone.c.id,
            delivery_bodies.c.received_at == gone.c.received_at,
        )
    )


def delete_unused_patches(connection: Connection, chosen: ColumnElement[bool]) -> None:
    """Delete those of the `chosen` patches that no candidate and no agent's attempt refers to."""
    referred = [
        exists().where(table.c.patch_sha256 == patches.c.sha256) for table in (candidates, attempts)
    ]
    connection.execute(delete(patches).where(chosen, ~or_(*referred)))


def _belongs_to(
    table: Table, installation: InstallationId, number: RepositoryId | None
) -> ColumnElement[bool]:
    mine = table.c.installation_id == installation
    return mine if number is None else mine & (table.c.repository_id == number)


def block_purge(connection: Connection, installation: InstallationId) -> None:
    """Wait until no purge of the installation runs, and block new ones until this transaction ends."""
    connection.execute(select(func.pg_advisory_xact_lock_shared(installation)))


def is_forgotten(
    connection: Connection, installation: InstallationId, number: RepositoryId | None
) -> bool:
    """Return whether a purge deleted the data of the installation, or that of its repository `number`.

    With None for `number`, only a purge of the whole installation counts.
    """
    tombstone = exists().where(
        forgotten.c.installation_id == installation,
        forgotten.c.repository_id.in_((_ALL, number or _ALL)),
    )
    return bool(connection.scalar(select(tombstone)))


def restore(
    connection: Connection, installation: InstallationId, numbers: Collection[RepositoryId]
) -> None:
    """Let the bot store data of purged repositories again, and supersede jobs that would purge them.

    `numbers` are the ids of the repositories, which somebody added to the installation again.
    """
    connection.execute(
        delete(forgotten).where(
            forgotten.c.installation_id == installation, forgotten.c.repository_id.in_(numbers)
        )
    )
    jobs_store.supersede(connection, [PurgeData(installation, number).key for number in numbers])


def find_unknown(connection: Connection, numbers: Sequence[RepositoryId]) -> list[RepositoryId]:
    """Return those of the repository ids `numbers` that the database does not hold, in ascending order."""
    stored = select(repositories.c.id).where(repositories.c.id.in_(numbers))
    return sorted(set(numbers) - set(map(RepositoryId, connection.scalars(stored))))


def prune(connection: Connection) -> None:
    """Delete cached responses and write limits of installations that the database no longer holds."""
    for table in (etags, write_limits):
        owned = exists().where(installations.c.id == table.c.installation_id)
        connection.execute(delete(table).where(~owned))


def _list_repositories(
    connection: Connection, installation: InstallationId, number: RepositoryId | None
) -> list[RepositoryId]:
    query = select(repositories.c.id).where(repositories.c.installation_id == installation)
    if number is not None:
        query = query.where(repositories.c.id == number)
    return [
        RepositoryId(identity) for identity in connection.scalars(query.order_by(repositories.c.id))
    ]


def _delete_installation(connection: Connection, installation: InstallationId) -> None:
    installation_controls.keep_for_account(connection, installation)
    for table in (etags, write_limits):
        connection.execute(delete(table).where(table.c.installation_id == installation))
    connection.execute(delete(installations).where(installations.c.id == installation))


def _delete_repository(
    connection: Connection, installation: InstallationId, number: RepositoryId
) -> None:
    name = connection.execute(
        select(repositories.c.full_name).where(repositories.c.id == number)
    ).scalar_one_or_none()
    if name is None:
        return
    connection.execute(
        delete(etags).where(
            etags.c.installation_id == installation,
            func.starts_with(etags.c.path, f"/repos/{name}/"),
        )
    )
    connection.execute(
        delete(repositories).where(
            repositories.c.id == number, repositories.c.installation_id == installation
        )
    )
