"""Trace a webhook delivery or an issue through its jobs to every write on GitHub."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row

from app.values.identifiers import DeliveryGuid, EvaluationId, JobId, RepositoryId


@dataclass(frozen=True, slots=True)
class TracedRepository:
    """A repository that the bot knows, by its id and its name at GitHub."""

    id: RepositoryId
    full_name: str


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One job on the way from a delivery, and one write that it confirmed.

    A job with several writes has several steps. All fields of the job but its id are None once the job was deleted, and
    all fields of the write are None for a job that wrote nothing.
    """

    job: JobId
    kind: str | None
    state: str | None
    created_at: datetime | None
    finished_at: datetime | None
    delivery: DeliveryGuid | None
    event: str | None
    """Name of the delivery's event; None when the delivery was deleted."""
    received_at: datetime | None
    evaluation: EvaluationId | None
    effect: str | None
    """Name of what was written, such as `comment:group:7`."""
    github_id: int | None
    confirmed_at: datetime | None


_OF_DELIVERY: Final = "select id from jobs where delivery_guid = %(guid)s"
_NUMBERS: Final = """
select %(number)s::bigint as number union
select issue_number from groups join group_members on group_members.group_id = groups.id
where groups.repository_id = %(repository)s and pull_number = %(number)s
"""
_OF_ISSUE: Final = f"""
select id from jobs where repository_id = %(repository)s and exists (
    select from ({_NUMBERS}) as meant
    where meant.number::text in (payload->>'issue', payload->>'number', payload->>'pull'))
"""
_EVALUATIONS_OF_ISSUE: Final = f"""
select evaluations.id from evaluations join groups on groups.id = evaluations.group_id
where groups.repository_id = %(repository)s and issue_number in (select number from ({_NUMBERS}) as meant)
"""
# Jobs are deleted after a while; their writes stay and are found by delivery or evaluation.
_TRACE: Final = """
with recursive seeds as ({seeds}),
above(id) as (
    select id from seeds where {goes_up}
    union select cause_id from job_causes join above on job_causes.job_id = above.id),
below(id) as (
    select id from seeds
    union select job_id from job_causes join below on job_causes.cause_id = below.id),
traced as (select id from above union select id from below),
work as (select * from jobs where id in (select id from traced)),
written as (select * from confirmed_writes where job_id in (select id from traced) or {also})
select coalesce(work.id, written.job_id) as job, work.kind, work.state, work.created_at,
    work.finished_at, coalesce(work.delivery_guid, written.delivery_guid) as delivery, event,
    received_at, coalesce(written.evaluation_id, (payload->>'evaluation')::bigint) as evaluation,
    written.key as effect, written.github_id, written.confirmed_at
from work full join written on written.job_id = work.id
left join deliveries on deliveries.guid = coalesce(work.delivery_guid, written.delivery_guid)
order by 1, written.id
"""
_TRACE_DELIVERY: Final = _TRACE.format(
    seeds=_OF_DELIVERY, goes_up="false", also="delivery_guid = %(guid)s"
)
_TRACE_ISSUE: Final = _TRACE.format(
    seeds=_OF_ISSUE, goes_up="true", also=f"evaluation_id in ({_EVALUATIONS_OF_ISSUE})"
)


def trace_delivery(connection: Connection, guid: DeliveryGuid) -> tuple[TraceStep, ...]:
    """Return the steps that the webhook delivery `guid` caused, oldest job first; empty: nothing is known of it."""
    rows = connection.exec_driver_sql(_TRACE_DELIVERY, {"guid": guid})
    return tuple(_build_step(row) for row in rows)


def trace_issue(
    connection: Connection, repository: RepositoryId, number: int
) -> tuple[TraceStep, ...]:
    """Return the steps about an issue or pull request `number`, with the jobs that led to them, oldest first."""
    rows = connection.exec_driver_sql(_TRACE_ISSUE, {"repository": repository, "number": number})
    return tuple(_build_step(row) for row in rows)


def find_repositories(
    connection: Connection, number: int, full_name: str | None
) -> tuple[TracedRepository, ...]:
    """Return the repositories in which something is known of `number`; with `full_name` only the one of this name."""
    rows = connection.exec_driver_sql(
        """
        select id, full_name from repositories where lower(full_name) = lower(%(name)s) or
            (%(name)s::text is null and id in (
                select repository_id from jobs where %(number)s::text in
                    (payload->>'issue', payload->>'number', payload->>'pull')
                union select repository_id from groups where issue_number = %(number)s))
        order by full_name
        """,
        {"name": full_name, "number": number},
    )
    return tuple(TracedRepository(row.id, row.full_name) for row in rows)


def _build_step(row: Row[Any]) -> TraceStep:
    columns: tuple[Any, ...] = tuple(row)
    return TraceStep(*columns)
