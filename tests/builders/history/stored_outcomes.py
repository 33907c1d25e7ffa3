"""The derived outcomes of a group as the database stores them."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, select

from app.db.tables.schema import group_members, groups, outcome_events, outcomes
from app.jobs.job import Json
from app.outcomes import OutcomeKind
from app.values.identifiers import CommitSha, EvaluationId, PullNumber


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """One derived outcome of a pull request, as people and training read it."""

    pull: PullNumber
    kind: OutcomeKind
    reason: str | None
    value: float | None
    actor: str | None
    """None when nobody acted or only git tells it."""
    permission: str | None
    """The actor's permission then; `app` when none applies; None when unknown."""
    permission_asked_at: datetime | None
    """When GitHub told it."""
    head_sha: CommitSha | None
    """The pull request's head that the outcome is about."""
    source: str
    """The raw event that the outcome comes from."""
    evaluation: EvaluationId | None
    """The public verdict at that time, which may have caused the outcome."""
    occurred_at: datetime

    def as_json(self) -> dict[str, Json]:
        """Return the fields by name, with times in ISO 8601, UTC."""
        asked_at = self.permission_asked_at
        return {
            **asdict(self),
            "kind": self.kind.value,
            "permission_asked_at": asked_at and asked_at.astimezone(UTC).isoformat(),
            "occurred_at": self.occurred_at.astimezone(UTC).isoformat(),
        }


def list_rows(connection: Connection, group: int) -> tuple[OutcomeRow, ...]:
    """List the outcomes of a group's members, oldest first."""
    raw = outcome_events.c
    rows = connection.execute(
        select(outcomes, raw.occurred_at, raw.source, raw.permission_asked_at)
        .join(outcome_events, raw.id == outcomes.c.event_id)
        .join(groups, groups.c.repository_id == outcomes.c.repository_id)
        .join(
            group_members,
            (group_members.c.group_id == groups.c.id)
            & (group_members.c.pull_number == outcomes.c.pull_number),
        )
        .where(groups.c.id == group, group_members.c.forced.is_distinct_from(False))
        .order_by(raw.occurred_at, outcomes.c.pull_number, outcomes.c.kind)
    )
    return tuple(
        OutcomeRow(
            pull=PullNumber(row.pull_number),
            kind=OutcomeKind(row.kind),
            reason=row.reason,
            value=row.value,
            actor=row.actor,
            permission=row.permission,
            permission_asked_at=row.permission_asked_at,
            head_sha=None if row.head_sha is None else CommitSha(row.head_sha),
            source=row.source,
            evaluation=None if row.evaluation_id is None else EvaluationId(row.evaluation_id),
            occurred_at=row.occurred_at,
        )
        for row in rows
    )
