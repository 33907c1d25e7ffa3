"""Raw outcome events: appended once each, never changed but for a permission learnt later."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from sqlalchemy import ColumnElement, Connection, Row, Select, false, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.tables import (
    candidates,
    evaluation_candidates,
    evaluations,
    group_members,
    groups,
    outcome_events,
)
from app.identifiers import CommitSha, DeliveryGuid, IssueNumber, PullNumber, RepositoryId
from app.outcomes import Details, EventKind, OutcomeEvent
from app.policy import BY_COMMAND


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A raw event and its row."""

    id: int
    event: OutcomeEvent


def append(
    connection: Connection,
    number: RepositoryId,
    events: Sequence[OutcomeEvent],
    delivery: DeliveryGuid | None = None,
) -> None:
    """Store events with the verdict that was public when they happened; known sources are skipped."""
    for event in events:
        values = {
            "source": event.source,
            "delivery_guid": delivery,
            "repository_id": number,
            "issue_number": event.issue,
            "pull_number": event.pull,
            "kind": event.kind.value,
            "actor": event.actor,
            "actor_id": event.actor_id,
            "permission": event.permission,
            "head_sha": event.head,
            "evaluation_id": _public_evaluation(number, event).scalar_subquery(),
            "data": _to_json(event.details),
            "occurred_at": event.occurred_at,
        }
        statement = insert(outcome_events).values(values)
        connection.execute(statement.on_conflict_do_nothing(index_elements=["source"]))


def of_pull(
    connection: Connection, number: RepositoryId, pull: PullNumber
) -> tuple[StoredEvent, ...]:
    """All events that bear on a pull request, those of its issues and commits included."""
    own = _read(connection, number, outcome_events.c.pull_number == pull)
    heads = select(candidates.c.head_sha).where(
        candidates.c.repository_id == number, candidates.c.pull_number == pull
    )
    moved = {stored.event.head for stored in own if stored.event.kind in _SHOW_THE_HEAD}
    landed = [
        stored.event.details.commit
        for stored in own
        if stored.event.kind == EventKind.PULL_MERGED and stored.event.details.commit
    ]
    kind = outcome_events.c.kind
    elsewhere = or_(
        (kind == EventKind.CI_CONCLUDED.value)
        & (outcome_events.c.head_sha.in_(moved) | outcome_events.c.head_sha.in_(heads)),
        (kind == EventKind.REVERTED.value) & or_(false(), *map(_names_commit, landed)),
        kind.in_(_OF_THE_ISSUE) & outcome_events.c.issue_number.in_(_issues(number, pull)),
        kind.in_(_OF_THE_VERDICT) & outcome_events.c.evaluation_id.in_(_judging(number, pull)),
    )
    return own + _read(connection, number, outcome_events.c.pull_number.is_(None) & elsewhere)


def rival_merges(
    connection: Connection, number: RepositoryId, pull: PullNumber
) -> tuple[StoredEvent, ...]:
    """Merges of the other pull requests that claim to resolve the same issues."""
    merged = outcome_events.c.kind == EventKind.PULL_MERGED.value
    rivals = outcome_events.c.pull_number.in_(_rivals(number, pull))
    return _read(connection, number, merged & rivals)


def touched(
    connection: Connection, number: RepositoryId, events: Sequence[OutcomeEvent]
) -> list[PullNumber]:
    """The pull requests whose outcomes may look different after these events, in ascending order."""
    direct: set[PullNumber] = set()
    for event in events:
        direct |= _directly_touched(connection, number, event)
    rivals: set[PullNumber] = set()
    for pull in direct:
        rivals |= _numbers(connection, _rivals(number, pull))
    return sorted(direct | rivals)


def lacks_permission(connection: Connection, number: RepositoryId, actor: str) -> bool:
    """Whether an event of this person still waits for the permission."""
    return (
        connection.execute(
            select(outcome_events.c.id).where(*_waiting(number, actor)).limit(1)
        ).first()
        is not None
    )


def fill_in_permission(
    connection: Connection, number: RepositoryId, actor: str, permission: str
) -> list[PullNumber]:
    """Write the permission where none is known yet; returns the pull requests this touches."""
    rows = connection.execute(
        update(outcome_events)
        .where(*_waiting(number, actor))
        .values(permission=permission)
        .returning(outcome_events)
    )
    return touched(connection, number, [_stored(row).event for row in rows])


def shown_reactions(
    connection: Connection, number: RepositoryId, issue: IssueNumber
) -> tuple[OutcomeEvent, ...]:
    """The thumbs that were there when the issue's verdict was last looked at."""
    events = _read(
        connection,
        number,
        (outcome_events.c.kind == EventKind.REACTION.value)
        & (outcome_events.c.issue_number == issue),
    )
    ordered = sorted((stored.event for stored in events), key=lambda event: event.moment)
    last = {event.details.about: event for event in ordered}
    return tuple(event for event in last.values() if not event.details.gone)


_SHOW_THE_HEAD = frozenset(
    {
        EventKind.PULL_CLOSED,
        EventKind.PULL_MERGED,
        EventKind.PULL_REOPENED,
        EventKind.HEAD_MOVED,
    }
)
_OF_THE_ISSUE = (EventKind.ISSUE_CLOSED.value, EventKind.ISSUE_REOPENED.value)
_OF_THE_VERDICT = (
    EventKind.AGREED.value,
    EventKind.DISAGREED.value,
    EventKind.REACTION.value,
)


def _public_evaluation(number: RepositoryId, event: OutcomeEvent) -> Select[int]:
    """The newest verdict that could be read on GitHub at that time, in GitHub's whole seconds.

    In shadow mode only what was asked for by command is shown.
    """
    published = evaluations.c.published_at
    query = select(evaluations.c.id).where(
        or_(evaluations.c.mode != "shadow", evaluations.c.trigger == BY_COMMAND),
        func.date_trunc("second", published) <= event.occurred_at,
    )
    if event.pull is not None:
        query = query.where(evaluations.c.id.in_(_judging(number, event.pull)))
    else:
        query = query.join(groups, groups.c.id == evaluations.c.group_id).where(
            groups.c.repository_id == number, groups.c.issue_number == event.issue
        )
    return query.order_by(published.desc(), evaluations.c.id.desc()).limit(1)


def _judging(number: RepositoryId, pull: PullNumber) -> Select[int]:
    return (
        select(evaluation_candidates.c.evaluation_id)
        .join(candidates, candidates.c.id == evaluation_candidates.c.candidate_id)
        .where(candidates.c.repository_id == number, candidates.c.pull_number == pull)
    )


def _group_ids(number: RepositoryId, pull: PullNumber) -> Select[int]:
    return (
        select(group_members.c.group_id)
        .join(groups, groups.c.id == group_members.c.group_id)
        .where(
            groups.c.repository_id == number,
            group_members.c.pull_number == pull,
            group_members.c.forced.is_distinct_from(False),
        )
    )


def _issues(number: RepositoryId, pull: PullNumber) -> Select[int]:
    return select(groups.c.issue_number).where(groups.c.id.in_(_group_ids(number, pull)))


def _rivals(number: RepositoryId, pull: PullNumber) -> Select[int]:
    return select(group_members.c.pull_number).where(
        group_members.c.group_id.in_(_group_ids(number, pull)),
        group_members.c.forced.is_distinct_from(False),
        group_members.c.pull_number != pull,
    )


def _directly_touched(
    connection: Connection, number: RepositoryId, event: OutcomeEvent
) -> set[PullNumber]:
    if event.pull is not None:
        return {event.pull}
    if event.issue is not None:
        members = (
            select(group_members.c.pull_number)
            .join(groups, groups.c.id == group_members.c.group_id)
            .where(groups.c.repository_id == number, groups.c.issue_number == event.issue)
        )
        return _numbers(connection, members)
    if event.details.commit is not None:
        merged = select(outcome_events.c.pull_number).where(
            outcome_events.c.repository_id == number,
            outcome_events.c.kind == EventKind.PULL_MERGED.value,
            func.starts_with(outcome_events.c.data["commit"].astext, event.details.commit),
        )
        return _numbers(connection, merged)
    at_head = select(candidates.c.pull_number).where(
        candidates.c.repository_id == number, candidates.c.head_sha == event.head
    )
    named = select(outcome_events.c.pull_number).where(
        outcome_events.c.repository_id == number,
        outcome_events.c.head_sha == event.head,
        outcome_events.c.kind.in_([kind.value for kind in _SHOW_THE_HEAD]),
    )
    return _numbers(connection, at_head) | _numbers(connection, named)


def _numbers(connection: Connection, query: Select[int]) -> set[PullNumber]:
    return {PullNumber(row[0]) for row in connection.execute(query)}


def _names_commit(commit: str) -> ColumnElement[bool]:
    """A revert names the merge commit, perhaps abbreviated."""
    named = outcome_events.c.data["commit"].astext
    return func.starts_with(commit, named)


def _waiting(number: RepositoryId, actor: str) -> tuple[ColumnElement[bool], ...]:
    return (
        outcome_events.c.repository_id == number,
        outcome_events.c.actor == actor,
        outcome_events.c.permission.is_(None),
    )


def _read(
    connection: Connection, number: RepositoryId, condition: ColumnElement[bool]
) -> tuple[StoredEvent, ...]:
    rows = connection.execute(
        select(outcome_events).where(outcome_events.c.repository_id == number, condition)
    )
    return tuple(map(_stored, rows))


def _stored(row: Row[*tuple[object, ...]]) -> StoredEvent:
    event = OutcomeEvent(
        kind=EventKind(row.kind),
        source=row.source,
        occurred_at=row.occurred_at,
        pull=None if row.pull_number is None else PullNumber(row.pull_number),
        issue=None if row.issue_number is None else IssueNumber(row.issue_number),
        actor=row.actor,
        actor_id=row.actor_id,
        permission=row.permission,
        head=None if row.head_sha is None else CommitSha(row.head_sha),
        verdict_public=row.evaluation_id is not None,
        details=_from_json(row.data),
    )
    return StoredEvent(row.id, event)


def _to_json(details: Details) -> dict[str, object]:
    # By identity: a share of 0.0 equals False and must stay.
    values = asdict(details).items()
    return {name: value for name, value in values if value is not None and value is not False}


def _from_json(data: Mapping[str, object]) -> Details:
    """Keys this version doesn't know are passed over: a newer one may have written them."""
    known = {field.name for field in fields(Details)}
    return Details(**{name: value for name, value in data.items() if name in known})  # type: ignore[arg-type]
