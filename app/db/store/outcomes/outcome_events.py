"""Store raw outcome events, which never change except for permissions filled in later."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Row, Select, case, false, func, or_, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import (
    candidates,
    evaluation_candidates,
    evaluations,
    group_members,
    groups,
    outcome_events,
)
from app.outcomes import Details, EventKind, OutcomeEvent
from app.outcomes.derivation import QUOTA_WITHIN
from app.policy.event_policy import BY_COMMAND
from app.values.identifiers import (
    DeliveryGuid,
    IssueNumber,
    PullNumber,
    RepositoryId,
)
from model import typed_json


def append(
    connection: Connection,
    number: RepositoryId,
    events: Sequence[OutcomeEvent],
    delivery: DeliveryGuid | None = None,
) -> tuple[OutcomeEvent, ...]:
    """Store outcome events of repository `number`, each with the evaluation whose verdict was public then.

    Events stored before are not stored again. Returns all events of `events` as stored, with known permissions.
    `delivery` is the webhook delivery that brought them, if any.
    """
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
            "evaluation_id": event.evaluation
            or _select_public_evaluation(number, event).scalar_subquery(),
            "data": _to_json(event.details),
            "occurred_at": event.occurred_at,
        }
        statement = insert(outcome_events).values(values)
        connection.execute(statement.on_conflict_do_nothing(index_elements=["source"]))
    sources = [event.source for event in events]
    return _read(connection, number, outcome_events.c.source.in_(sources))


def list_of_pull(
    connection: Connection, number: RepositoryId, pull: PullNumber
) -> tuple[OutcomeEvent, ...]:
    """List all outcome events about pull request `pull` of repository `number`.

    They include events about its issues, its commits and the verdicts on it.
    """
    own = _read(connection, number, outcome_events.c.pull_number == pull)
    heads = select(candidates.c.head_sha).where(
        candidates.c.repository_id == number, candidates.c.pull_number == pull
    )
    moved = {event.head for event in own if event.kind in _SHOW_THE_HEAD}
    landed = [commit for event in own if (commit := _get_landed_commit(event))]
    kind = outcome_events.c.kind
    elsewhere = or_(
        (kind == EventKind.CI_CONCLUDED.value)
        & (outcome_events.c.head_sha.in_(moved) | outcome_events.c.head_sha.in_(heads)),
        (kind == EventKind.REVERTED.value) & or_(false(), *map(_names_commit, landed)),
        kind.in_(_OF_THE_ISSUE) & outcome_events.c.issue_number.in_(_select_issues(number, pull)),
        kind.in_(_OF_THE_VERDICT)
        & outcome_events.c.evaluation_id.in_(_select_judging(number, pull)),
    )
    return own + _read(connection, number, outcome_events.c.pull_number.is_(None) & elsewhere)


def list_rival_merges(
    connection: Connection, number: RepositoryId, pull: PullNumber
) -> tuple[OutcomeEvent, ...]:
    """List the outcome events that record merges of the rivals of pull request `pull` in repository `number`."""
    merged = outcome_events.c.kind == EventKind.PULL_MERGED.value
    rivals = outcome_events.c.pull_number.in_(_select_rivals(number, pull))
    return _read(connection, number, merged & rivals)


def find_touched_pulls(
    connection: Connection, number: RepositoryId, events: Sequence[OutcomeEvent]
) -> list[PullNumber]:
    """Return the numbers of the pull requests whose outcomes these events may change, ascending.

    The events belong to repository `number`. Rivals of a pull request are included.
    """
    direct: set[PullNumber] = set()
    for event in events:
        direct |= _find_directly_touched(connection, number, event)
    rivals: set[PullNumber] = set()
    for pull in direct:
        rivals |= _read_numbers(connection, _select_rivals(number, pull))
    return sorted(direct | rivals)


def build_public_at() -> ColumnElement[datetime | None]:
    """Build the SQL expression for the time since which GitHub shows an evaluation's verdict.

    The time has whole seconds. It is null for an unpublished verdict, and for one in shadow mode that no command asked
    for.
    """
    shown = or_(evaluations.c.mode != "shadow", evaluations.c.trigger == BY_COMMAND)
    return case((shown, func.date_trunc("second", evaluations.c.published_at)))


def list_shown_reactions(
    connection: Connection, number: RepositoryId, issue: IssueNumber
) -> tuple[OutcomeEvent, ...]:
    """List the thumbs on the verdict comment of the issue number `issue` that were not removed at the last poll.

    `number` is the repository's id. Each result is the outcome event of one person's thumb.
    """
    events = _read(
        connection,
        number,
        (outcome_events.c.kind == EventKind.REACTION.value)
        & (outcome_events.c.issue_number == issue),
    )
    ordered = sorted(events, key=lambda event: event.moment)
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


def _select_public_evaluation(number: RepositoryId, event: OutcomeEvent) -> Select[int]:
    """Select the newest verdict on the event's subject that GitHub showed at that time."""
    query = select(evaluations.c.id).where(build_public_at() <= event.occurred_at)
    if event.pull is not None:
        query = query.where(evaluations.c.id.in_(_select_judging(number, event.pull)))
    if event.issue is not None or event.pull is None:
        query = query.join(groups, groups.c.id == evaluations.c.group_id).where(
            groups.c.repository_id == number, groups.c.issue_number == event.issue
        )
    return query.order_by(evaluations.c.published_at.desc(), evaluations.c.id.desc()).limit(1)


def _select_judging(number: RepositoryId, pull: PullNumber) -> Select[int]:
    return (
        select(evaluation_candidates.c.evaluation_id)
        .join(candidates, candidates.c.id == evaluation_candidates.c.candidate_id)
        .where(candidates.c.repository_id == number, candidates.c.pull_number == pull)
    )


def _select_group_ids(number: RepositoryId, pull: PullNumber) -> Select[int]:
    return (
        select(group_members.c.group_id)
        .join(groups, groups.c.id == group_members.c.group_id)
        .where(
            groups.c.repository_id == number,
            group_members.c.pull_number == pull,
            group_members.c.forced.is_distinct_from(False),
        )
    )


def _select_issues(number: RepositoryId, pull: PullNumber) -> Select[int]:
    return select(groups.c.issue_number).where(groups.c.id.in_(_select_group_ids(number, pull)))


def _select_rivals(number: RepositoryId, pull: PullNumber) -> Select[int]:
    return select(group_members.c.pull_number).where(
        group_members.c.group_id.in_(_select_group_ids(number, pull)),
        group_members.c.forced.is_distinct_from(False),
        group_members.c.pull_number != pull,
    )


def _find_directly_touched(
    connection: Connection, number: RepositoryId, event: OutcomeEvent
) -> set[PullNumber]:
    if event.kind == EventKind.PULL_OPENED and event.pull is not None:
        closed = select(outcome_events.c.pull_number).where(
            outcome_events.c.repository_id == number,
            outcome_events.c.kind == EventKind.PULL_CLOSED.value,
            outcome_events.c.actor_id == event.actor_id,
            event.occurred_at - outcome_events.c.occurred_at <= QUOTA_WITHIN,
        )
        return {event.pull, *_read_numbers(connection, closed)}
    if event.pull is not None:
        return {event.pull}
    if event.issue is not None:
        members = (
            select(group_members.c.pull_number)
            .join(groups, groups.c.id == group_members.c.group_id)
            .where(groups.c.repository_id == number, groups.c.issue_number == event.issue)
        )
        return _read_numbers(connection, members)
    if event.details.commit is not None:
        merged = select(outcome_events.c.pull_number).where(
            outcome_events.c.repository_id == number,
            (
                (outcome_events.c.kind == EventKind.PULL_MERGED.value)
                & func.starts_with(outcome_events.c.data["commit"].astext, event.details.commit)
            )
            | (
                (outcome_events.c.kind == EventKind.LANDED.value)
                & func.starts_with(outcome_events.c.head_sha, event.details.commit)
            ),
        )
        return _read_numbers(connection, merged)
    at_head = select(candidates.c.pull_number).where(
        candidates.c.repository_id == number, candidates.c.head_sha == event.head
    )
    named = select(outcome_events.c.pull_number).where(
        outcome_events.c.repository_id == number,
        outcome_events.c.head_sha == event.head,
        outcome_events.c.kind.in_([kind.value for kind in _SHOW_THE_HEAD]),
    )
    return _read_numbers(connection, at_head) | _read_numbers(connection, named)


def _read_numbers(connection: Connection, query: Select[int]) -> set[PullNumber]:
    return {PullNumber(number) for number in connection.scalars(query)}


def _get_landed_commit(event: OutcomeEvent) -> str | None:
    """Return the branch commit that carries the pull request, if the event names it."""
    if event.kind == EventKind.LANDED:
        return event.head
    return event.details.commit if event.kind == EventKind.PULL_MERGED else None


def _names_commit(commit: str) -> ColumnElement[bool]:
    """Match a revert that names this commit, perhaps abbreviated."""
    named = outcome_events.c.data["commit"].astext
    return func.starts_with(commit, named)


def _read(
    connection: Connection, number: RepositoryId, condition: ColumnElement[bool]
) -> tuple[OutcomeEvent, ...]:
    rows = connection.execute(
        select(outcome_events)
        .where(outcome_events.c.repository_id == number, condition)
        .order_by(outcome_events.c.id)
    )
    return tuple(map(build_event, rows))


def build_event(row: Row[*tuple[object, ...]]) -> OutcomeEvent:
    """Build an outcome event from its row of `outcome_events`."""
    return OutcomeEvent(
        kind=EventKind(row.kind),
        source=row.source,
        occurred_at=row.occurred_at,
        pull=row.pull_number,
        issue=row.issue_number,
        actor=row.actor,
        actor_id=row.actor_id,
        permission=row.permission,
        head=row.head_sha,
        evaluation=row.evaluation_id,
        details=_from_json(row.data),
    )


def _to_json(details: Details) -> dict[str, object]:
    # Compare by identity: a share of 0.0 equals False and must stay.
    values = typed_json.dump(details).items()
    return {name: value for name, value in values if value is not None and value is not False}


def _from_json(data: Mapping[str, object]) -> Details:
    """Build the details, ignoring keys of newer versions."""
    names = {typed_json.get_key(field): field.name for field in fields(Details)}
    return Details(**{names[key]: value for key, value in data.items() if key in names})  # type: ignore[arg-type]
