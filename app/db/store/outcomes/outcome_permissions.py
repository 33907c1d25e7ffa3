"""Store the permissions of the people behind outcomes, as GitHub told them soon after the event."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, select, update

from app.db.store.outcomes import outcome_events as event_store
from app.db.tables.schema import outcome_events
from app.outcomes import EventKind
from app.values.identifiers import DeliveryGuid, PullNumber, RepositoryId

ANSWERS_FOR = timedelta(days=1)
"""An answer counts for events at most this much older."""

HOLDS_FOR = timedelta(minutes=5)
"""GitHub is not asked again about the same person within this time."""


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """GitHub's answer about a person's permission in a repository, and the time of the question."""

    permission: str
    asked_at: datetime


def is_wanted(connection: Connection, number: RepositoryId, actor: str, now: datetime) -> bool:
    """Return whether GitHub must still be asked for a person's permission in a repository.

    It must when a recent outcome event of that person is stored without it.

    `number` is the repository's id, `actor` the person's login. Recent means at most ANSWERS_FOR before `now`.
    """
    waiting = select(outcome_events.c.id).where(*_match_waiting(number, actor, now)).limit(1)
    return connection.execute(waiting).first() is not None


def find_recent_answer(
    connection: Connection, number: RepositoryId, actor: str, now: datetime
) -> PermissionAnswer | None:
    """Return GitHub's last answer about a person's permission; None if older than HOLDS_FOR or not stored.

    `number` is the repository's id, `actor` the person's login.
    """
    asked_at = outcome_events.c.permission_asked_at
    row = connection.execute(
        select(outcome_events.c.permission, asked_at)
        .where(outcome_events.c.repository_id == number, outcome_events.c.actor == actor)
        .where(asked_at > now - HOLDS_FOR)
        .order_by(asked_at.desc())
        .limit(1)
    ).first()
    return PermissionAnswer(*row) if row else None


def fill_in(
    connection: Connection, number: RepositoryId, actor: str, answer: PermissionAnswer
) -> list[PullNumber]:
    """Store GitHub's answer about a person's permission in the recent outcome events that lack it.

    `number` is the repository's id, `actor` the person's login. Returns the numbers of the pull requests whose outcomes
    may change.
    """
    rows = connection.execute(
        update(outcome_events)
        .where(*_match_waiting(number, actor, answer.asked_at))
        .values(permission=answer.permission, permission_asked_at=answer.asked_at)
        .returning(outcome_events)
    )
    return event_store.find_touched_pulls(
        connection, number, list(map(event_store.build_event, rows))
    )


def list_change_requests(
    connection: Connection, number: RepositoryId, actor: str, answer: PermissionAnswer
) -> list[DeliveryGuid]:
    """List the webhook deliveries of a person's reviews that request changes and got their permission from `answer`.

    `number` is the repository's id, `actor` the reviewer's login.
    """
    rows = connection.scalars(
        select(outcome_events.c.delivery_guid).where(
            outcome_events.c.repository_id == number,
            outcome_events.c.actor == actor,
            outcome_events.c.permission_asked_at == answer.asked_at,
            outcome_events.c.kind == EventKind.REVIEW_SUBMITTED.value,
            outcome_events.c.data["state"].astext == "changes_requested",
            outcome_events.c.delivery_guid.is_not(None),
        )
    )
    return [DeliveryGuid(guid) for guid in rows]


def _match_waiting(
    number: RepositoryId, actor: str, now: datetime
) -> tuple[ColumnElement[bool], ...]:
    return (
        outcome_events.c.repository_id == number,
        outcome_events.c.actor == actor,
        outcome_events.c.permission.is_(None),
        outcome_events.c.occurred_at > now - ANSWERS_FOR,
    )
