"""The statement that stores jobs, shared by the webhook and the workers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from app.jobs.job import DEBOUNCES, Json, Planned, Queue
from app.values.identifiers import DeliveryGuid, JobId


@dataclass(frozen=True, slots=True)
class StoredJob:
    """The id and queue of a stored job. `is_due` tells whether its delay had passed when it was read."""

    id: JobId
    queue: Queue
    is_due: bool


@dataclass(frozen=True, slots=True)
class Origin:
    """The cause of new jobs: the webhook delivery, and the job that stores them; None where there is none."""

    delivery: DeliveryGuid | None = None
    job: JobId | None = None


def serialize_jobs(planned: Sequence[Planned]) -> str:
    """Convert jobs to a JSON array, the parameter `jobs` of the SQL text `PLANNED`.

    Of several jobs with the same key and wish, the array holds only the last one.
    """
    rows: dict[tuple[str, str], dict[str, Json]] = {}
    for item in planned:
        payload = item.job.to_payload()
        rows[item.job.key, item.wish] = {
            "kind": item.job.kind,
            "queue": item.job.queue.value,
            "key": item.job.key,
            "wish": item.wish,
            "payload": payload,
            "installation_id": item.job.tenant,
            "repository_id": payload.get("repository"),
            "delay": item.delay_seconds,
        }
    return json.dumps(list(rows.values()))


# A due job stays as it is: it reads the present state when it is claimed. Pushing it back would
# let a busy issue, or another person's event, delay what somebody asked for.
STORE: Final = f"""
insert into jobs
    (kind, queue, key, wish, payload, installation_id, repository_id, delivery_guid, run_after)
select kind, queue, key, wish, payload, installation_id, repository_id, %(delivery)s,
    now() + delay * interval '1 second'
from planned
on conflict (key, wish) where state = 'ready' do update set
    run_after = case
        when jobs.run_after <= now() then jobs.run_after
        when excluded.run_after <= now() then excluded.run_after
        else greatest(jobs.run_after, least(
            excluded.run_after, jobs.created_at + {DEBOUNCES} * (excluded.run_after - now())))
        end,
    payload = case
        when jobs.run_after <= now() and excluded.run_after > now() then jobs.payload
        else excluded.payload end,
    delivery_guid = coalesce(excluded.delivery_guid, jobs.delivery_guid)
returning id, queue, run_after <= now() as is_due
"""


PLANNED: Final = """
jsonb_to_recordset(%(jobs)s::jsonb) as planned(
    kind text, queue text, key text, wish text, payload jsonb,
    installation_id bigint, repository_id bigint, delay float8)
"""


# A job that absorbs an equal one gets both causes.
ENQUEUE: Final = f"""
with planned as (select * from {PLANNED}), stored as ({STORE}),
linked as (
    insert into job_causes (job_id, cause_id)
    select id, %(cause)s::bigint from stored
    where %(cause)s::bigint is not null and id <> %(cause)s::bigint
    on conflict do nothing)
select id, queue, is_due from stored
"""


def store_planned(connection: Connection, planned: Sequence[Planned]) -> tuple[StoredJob, ...]:
    """Store jobs that no delivery and no other job caused, such as those that a person asks for on a page."""
    values = {"jobs": serialize_jobs(planned), "delivery": None}
    rows = connection.exec_driver_sql(f"with planned as (select * from {PLANNED}) {STORE}", values)
    return tuple(StoredJob(row.id, Queue(row.queue), row.is_due) for row in rows)
