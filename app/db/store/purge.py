"""Forgetting an installation, or one repository of it: what is stored of it is deleted, not hidden."""

from sqlalchemy import Connection, delete, exists, func, select

from app.db.store import upkeep
from app.db.tables import (
    candidates,
    deliveries,
    etags,
    installations,
    jobs,
    patches,
    repositories,
    write_limits,
)
from app.identifiers import InstallationId, RepositoryId
from app.jobs import ForgetCheckout


def purge(
    connection: Connection, installation: InstallationId, number: RepositoryId | None
) -> list[RepositoryId]:
    """Delete everything of a repository; of the whole installation when `number` is None.

    Returns the repositories that were forgotten. What else refers to a repository goes with its row. Deliveries go first: recording one holds
    it, so a recording under way is waited for and deleted too. Doing it twice changes nothing.
    """
    upkeep.forget(connection, installation, number)
    for table in (deliveries, jobs):
        statement = delete(table).where(table.c.installation_id == installation)
        if number is not None:
            statement = statement.where(table.c.repository_id == number)
        if table is jobs:
            # The purge itself is still running, and git objects are still on a disk.
            waits = (jobs.c.kind == ForgetCheckout.kind) & (jobs.c.state == "ready")
            statement = statement.where(jobs.c.state != "running", ~waits)
        connection.execute(statement)
    forgotten = _repositories(connection, installation, number)
    if number is None:
        _installation(connection, installation)
    else:
        _repository(connection, installation, number)
    referred = exists().where(candidates.c.patch_sha256 == patches.c.sha256)
    connection.execute(delete(patches).where(~referred))
    return forgotten


def _repositories(
    connection: Connection, installation: InstallationId, number: RepositoryId | None
) -> list[RepositoryId]:
    query = select(repositories.c.id).where(repositories.c.installation_id == installation)
    if number is not None:
        query = query.where(repositories.c.id == number)
    return [RepositoryId(found) for found in connection.scalars(query.order_by(repositories.c.id))]


def _installation(connection: Connection, installation: InstallationId) -> None:
    for table in (etags, write_limits):
        connection.execute(delete(table).where(table.c.installation_id == installation))
    connection.execute(delete(installations).where(installations.c.id == installation))


def _repository(connection: Connection, installation: InstallationId, number: RepositoryId) -> None:
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
