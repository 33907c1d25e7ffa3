"""Which permission an outcome's actor had: asked of GitHub soon after the event, else not known."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, select, update

from app.db.store.outcomes import outcome_events as event_store
from app.db.tables.schema import outcome_events
from app.outcomes import EventKind
from app.values.identifiers import DeliveryGuid, PullNumber, RepositoryId

ANSWERS_FOR = timedelta(days=1)
"""An answer is taken for the right that somebody had at most this long before."""

HOLDS_FOR = timedelta(minutes=5)
"""Within this time GitHub isn't asked about the same person again, however much they do."""


@dataclass(frozen=True, slots=True)
class PermissionAnswer:
    """What GitHub said of somebody's right in a repository, and when."""

    permission: str
    asked_at: datetime


def is_wanted(connection: Connection, number: RepositoryId, actor: str, now: datetime) -> bool:
    """Whether an event of this person waits for the permission, and is recent enough to be told."""
    waiting = select(outcome_events.c.id).where(*_match_waiting(number, actor, now)).limit(1)
    return connection.execute(waiting).first() is not None


def find_recent_answer(
    connection: Connection, number: RepositoryId, actor: str, now: datetime
) -> PermissionAnswer | None:
    """What GitHub said of this person a moment ago; None: it is time to ask."""
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
    """Write the answer where none is known yet; returns the pull requests this touches."""
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
    """The deliveries of reviews that ask for changes, of those for whose author this answer holds."""
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
