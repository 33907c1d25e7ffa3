"""Apply webhook events to installations, repositories, issues and pull requests.

A webhook can be late, so only permanent or newer facts are taken from it. Everything else is read
from GitHub when needed.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, case, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.store.issues import purge
from app.db.store.queue import installation_controls
from app.db.tables.schema import (
    deliveries,
    delivery_bodies,
    group_members,
    groups,
    installations,
    jobs,
    pull_requests,
    repositories,
)
from app.events import (
    CheckEvent,
    Event,
    InstallationAction,
    InstallationEvent,
    InstallationRepositoriesEvent,
    InstalledRepository,
    IssueAction,
    IssueEvent,
    PullAction,
    PullRequestEvent,
    RepositoryEvent,
)
from app.jobs.job import RecordEvent
from app.values.identifiers import DeliveryGuid, InstallationId, IssueNumber


@dataclass(frozen=True, slots=True)
class StoredDelivery:
    """A stored webhook delivery: the event's name, the raw body and the time of its arrival."""

    event: str
    body: bytes
    received_at: datetime


def load_delivery(connection: Connection, guid: DeliveryGuid) -> StoredDelivery | None:
    """Load a stored webhook delivery by its GUID; None when it was purged, or its body is older than the bot keeps.

    A purge of the installation then waits for this transaction, and also deletes what the transaction stores.
    """
    owner = connection.scalar(select(deliveries.c.installation_id).where(deliveries.c.guid == guid))
    if owner is not None:
        purge.block_purge(connection, owner)
    row = connection.execute(
        select(deliveries.c.event, delivery_bodies.c.body, deliveries.c.received_at)
        .join(
            delivery_bodies,
            (delivery_bodies.c.delivery_id == deliveries.c.id)
            & (delivery_bodies.c.received_at == deliveries.c.received_at),
        )
        .where(deliveries.c.guid == guid)
        .with_for_update(read=True, of=deliveries)
    ).one_or_none()
    return None if row is None else StoredDelivery(row.event, bytes(row.body), row.received_at)


def is_recorded(connection: Connection, guid: DeliveryGuid) -> bool:
    """Return whether no job has to record the webhook delivery any more."""
    waiting = select(jobs.c.id).where(
        jobs.c.delivery_guid == guid,
        jobs.c.kind == RecordEvent.kind,
        jobs.c.state.in_(("ready", "running")),
    )
    return connection.execute(waiting.limit(1)).first() is None


def find_stored(connection: Connection, guids: Collection[DeliveryGuid]) -> frozenset[DeliveryGuid]:
    """Return those of the webhook delivery GUIDs `guids` that the database holds."""
    rows = connection.scalars(select(deliveries.c.guid).where(deliveries.c.guid.in_(guids)))
    return frozenset(map(DeliveryGuid, rows))


def apply_event(connection: Connection, event: Event, received_at: datetime) -> bool:
    """Update the installation, repository, issue or pull request that a webhook event is about.

    `received_at` replaces a missing time of the event. Returns True, or False when a purge deleted the data of the
    repository or installation; then the function only deletes the event's delivery.
    """
    about = event.repository.id if isinstance(event, RepositoryEvent) else None
    if purge.is_forgotten(connection, event.installation, about):
        purge.delete_deliveries(connection, deliveries.c.guid == event.delivery)
        return False
    match event:
        case InstallationEvent():
            _update_installation(connection, event, received_at)
        case InstallationRepositoriesEvent():
            added = [repository.id for repository in event.added]
            purge.restore(connection, event.installation, added)
            _save_installation(connection, event.installation, event.account, event.account_id)
            _save_repositories(connection, event.installation, event.added)
        case RepositoryEvent():
            reference = event.repository
            _save_installation(
                connection, reference.installation, reference.full_name.partition("/")[0]
            )
            here = InstalledRepository(reference.id, reference.full_name)
            _save_repositories(connection, reference.installation, (here,))
    if isinstance(event, PullRequestEvent):
        _update_pull(connection, event, received_at)
    if isinstance(event, IssueEvent):
        _update_issue(connection, event, received_at)
    return True


def find_linked_issues(connection: Connection, event: RepositoryEvent) -> frozenset[IssueNumber]:
    """Return the numbers of the issues whose groups contain the pull requests that an event is about.

    An event about an issue gives that issue if it has a group. Events about neither kind give an empty set.
    """
    query = (
        select(groups.c.issue_number)
        .outerjoin(group_members, group_members.c.group_id == groups.c.id)
        .where(groups.c.repository_id == event.repository.id)
    )
    member = group_members.c.forced.is_distinct_from(False)
    match event:
        case PullRequestEvent():
            query = query.where(member, group_members.c.pull_number == event.number)
        case IssueEvent():
            query = query.where(groups.c.issue_number == event.number)
        case CheckEvent():
            at_head = select(pull_requests.c.number).where(
                pull_requests.c.repository_id == event.repository.id,
                pull_requests.c.head_sha == event.head,
            )
            query = query.where(member, group_members.c.pull_number.in_(at_head))
        case _:
            return frozenset()
    return frozenset(row[0] for row in connection.execute(query))


def _update_installation(
    connection: Connection, event: InstallationEvent, received_at: datetime
) -> None:
    """Update an installation; a removed one stays, because a purge follows."""
    if event.action == InstallationAction.DELETED:
        return
    _save_installation(connection, event.installation, event.account, event.account_id)
    installation_controls.inherit(connection, event.installation, event.account_id)
    kept = [
        r
        for r in event.repositories
        if not purge.is_forgotten(connection, event.installation, r.id)
    ]
    _save_repositories(connection, event.installation, tuple(kept))
    _update_suspension(connection, event, received_at)


def _update_suspension(
    connection: Connection, event: InstallationEvent, received_at: datetime
) -> None:
    """Suspend or resume an installation, unless the database knows a newer change.

    Workers record webhooks side by side, and GitHub sends a lost one again later. A late "suspend" after its
    "unsuspend" would silence the bot for good, so its time is the earlier of GitHub's and the arrival's.
    """
    here = update(installations).where(installations.c.id == event.installation)
    match event.action:
        case InstallationAction.SUSPEND:
            moment = min(event.suspended_at or received_at, received_at)
            resumed = installations.c.resumed_at
            is_newest = or_(resumed.is_(None), resumed < moment)
            connection.execute(here.where(is_newest).values(suspended_at=moment))
        case InstallationAction.UNSUSPEND:
            suspended = installations.c.suspended_at
            is_newest = or_(suspended.is_(None), suspended <= received_at)
            connection.execute(
                here.where(is_newest).values(suspended_at=None, resumed_at=received_at)
            )


def _save_installation(
    connection: Connection, identity: InstallationId, account: str, account_id: int | None = None
) -> None:
    values: dict[str, str | int] = {"account": account}
    if account_id is not None:
        values["account_id"] = account_id
    statement = insert(installations).values(id=identity, **values)
    changed = or_(
        *(installations.c[name].is_distinct_from(value) for name, value in values.items())
    )
    connection.execute(
        statement.on_conflict_do_update(index_elements=["id"], set_=values, where=changed)
    )


def _save_repositories(
    connection: Connection, installation: InstallationId, listed: tuple[InstalledRepository, ...]
) -> None:
    for repository in listed:
        values = {"installation_id": installation, "full_name": repository.full_name}
        statement = insert(repositories).values(id=repository.id, **values)
        # Write only a difference, because every delivery comes through here.
        changed = (statement.excluded.full_name != repositories.c.full_name) | (
            statement.excluded.installation_id != repositories.c.installation_id
        )
        connection.execute(
            statement.on_conflict_do_update(index_elements=["id"], set_=values, where=changed)
        )


def _update_pull(connection: Connection, event: PullRequestEvent, received_at: datetime) -> None:
    """Update a pull request: merged is final; closed and reopened count when newer than the stored
    state.
    """
    _update_default_branch(connection, event)
    if event.action not in {PullAction.CLOSED, PullAction.REOPENED}:
        return
    moment = event.occurred_at or received_at
    here = update(pull_requests).where(
        pull_requests.c.repository_id == event.repository.id,
        pull_requests.c.number == event.number,
    )
    latest = func.greatest(pull_requests.c.updated_at, moment)
    if event.merged:
        connection.execute(here.values(state="merged", updated_at=latest))
        return
    state = "closed" if event.action == PullAction.CLOSED else "open"
    # GitHub's times are whole seconds, so compare whole seconds.
    newer = func.date_trunc("second", pull_requests.c.updated_at) <= moment
    connection.execute(
        here.where(pull_requests.c.state != "merged").values(
            state=case((newer, state), else_=pull_requests.c.state), updated_at=latest
        )
    )


def _update_default_branch(connection: Connection, event: PullRequestEvent) -> None:
    connection.execute(
        update(repositories)
        .where(
            repositories.c.id == event.repository.id,
            repositories.c.default_branch.is_distinct_from(event.default_branch),
        )
        .values(default_branch=event.default_branch)
    )


_ISSUE_STATES = {
    IssueAction.CLOSED: "closed",
    IssueAction.DELETED: "closed",
    IssueAction.TRANSFERRED: "closed",
    IssueAction.REOPENED: "open",
}


def _update_issue(connection: Connection, event: IssueEvent, received_at: datetime) -> None:
    """Update an issue's group; a deleted issue counts as closed."""
    state = _ISSUE_STATES.get(event.action)
    if state is None:
        return
    moment = event.occurred_at or received_at
    connection.execute(
        update(groups)
        .where(
            groups.c.repository_id == event.repository.id,
            groups.c.issue_number == event.number,
            func.date_trunc("second", groups.c.updated_at) <= moment,
        )
        .values(state=state, updated_at=func.greatest(groups.c.updated_at, moment))
    )
