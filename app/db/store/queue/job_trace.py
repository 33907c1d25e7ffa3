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
    all fields of the write are None for a job that wrote nothing. The fields have the order of the columns of `_TRACE`.
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


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """A stored delivery: its event, and the number of its jobs, of those that gave up, and of those not done."""

    guid: DeliveryGuid
    event: str
    received_at: datetime
    jobs: int
    dead: int
    open: int


_NEWEST_DELIVERIES: Final = """
select newest.guid, newest.event, newest.received_at, count(jobs.id) as jobs,
    count(*) filter (where jobs.state = 'dead') as dead, count(*) filter (where jobs.state in ('ready', 'running')) as open
from (select id, guid, event, received_at from deliveries order by id desc limit %(limit)s) as newest
left join jobs on jobs.delivery_guid = newest.guid
group by newest.id, newest.guid, newest.event, newest.received_at order by newest.id desc
"""
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
# The columns are the fields of TraceStep, in order.
# seeds: the jobs with which the trace starts.
# causes: the jobs that led to a seed, through any number of jobs; empty unless {include_causes}.
# follow_ups: the jobs to which a seed led, through any number of jobs.
# jobs_traced: the rows of all these jobs that are not deleted yet.
# writes: their confirmed writes. Those of deleted jobs stay, and {other_writes} finds them by delivery or evaluation.
_TRACE: Final = """
with recursive seeds as ({seeds}),
causes(id) as (
    select id from seeds where {include_causes}
    union select cause_id from job_causes join causes on job_causes.job_id = causes.id),
follow_ups(id) as (
    select id from seeds
    union select job_id from job_causes join follow_ups on job_causes.cause_id = follow_ups.id),
ids as (select id from causes union select id from follow_ups),
jobs_traced as (select * from jobs where id in (select id from ids)),
writes as (select * from confirmed_writes where job_id in (select id from ids) or {other_writes})
select coalesce(jobs_traced.id, writes.job_id) as job, jobs_traced.kind, jobs_traced.state, jobs_traced.created_at,
    jobs_traced.finished_at, coalesce(jobs_traced.delivery_guid, writes.delivery_guid) as delivery, event,
    received_at, coalesce(writes.evaluation_id, (payload->>'evaluation')::bigint) as evaluation,
    writes.key as effect, writes.github_id, writes.confirmed_at
from jobs_traced full join writes on writes.job_id = jobs_traced.id
left join deliveries on deliveries.guid = coalesce(jobs_traced.delivery_guid, writes.delivery_guid)
order by 1, writes.id
"""
_TRACE_DELIVERY: Final = _TRACE.format(
    seeds=_OF_DELIVERY, include_causes="false", other_writes="delivery_guid = %(guid)s"
)
_TRACE_ISSUE: Final = _TRACE.format(
    seeds=_OF_ISSUE,
    include_causes="true",
    other_writes=f"evaluation_id in ({_EVALUATIONS_OF_ISSUE})",
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


def list_newest_deliveries(connection: Connection, limit: int) -> tuple[DeliveryRow, ...]:
    """List the newest deliveries of all installations, at most `limit`, newest first."""
    rows = connection.exec_driver_sql(_NEWEST_DELIVERIES, {"limit": limit})
    return tuple(DeliveryRow(*row) for row in rows)
