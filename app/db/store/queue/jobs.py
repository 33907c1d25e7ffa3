"""Store jobs, claim them under a lease and a fencing token, and finish them: the queue of record.

Claiming and finishing are one statement each on the bare driver, because SQLAlchemy's rendering
costs a quarter of the round trip. `upkeep` holds the queries over all jobs.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row
from sqlalchemy.exc import IntegrityError

from app.db.store.queue.claim_statements import CLAIM_NEXT, CLAIM_ONE
from app.db.store.queue.job_rows import ENQUEUE, Origin, StoredJob, serialize_jobs
from app.github.redaction import redact
from app.jobs.job import Job, Json, Planned, Queue, parse_job
from app.jobs.waits import Waits, WaitsFor
from app.values.identifiers import DeliveryGuid, InstallationId, JobId

_WAITS_FOR_NOBODY: Final = {"who": None, "times": 0, "since": None}

BEFORE_ALL: Final = InstallationId(-1)
"""No installation: the first turn is that of the lowest id, which is 0 for jobs of the whole App."""
ERROR_LIMIT: Final = 2_000
"""Most characters of an error that the table keeps."""

log = logging.getLogger(__name__)


class Fenced(Exception):
    """This worker does not own its claimed job any more, so it may write nothing for the job."""


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job that one worker owns until its lease ends. `token` is the claim's fencing token."""

    job: Job
    id: JobId
    token: int
    attempt: int
    """Number of this attempt, from 1. It counts from the claim on, so that a crash counts."""
    delivery: DeliveryGuid | None
    """The webhook delivery that caused the job; None for periodic jobs."""
    waited: Waits | None = None
    """What the last attempts waited for; None: nothing."""
    weight: int = 1
    """Jobs in a row that the installation gets in its turn."""


# This means `state = 'running'`, written so that the planner uses the id: the partial indexes on
# running jobs look small, but hold many entries of jobs that ended.
OURS: Final = (
    "id = %(id)s and token = %(token)s and state not in ('ready', 'done', 'dead', 'superseded')"
)

_RENEW: Final = f"""
update jobs set lease_until = now() + %(lease)s * interval '1 second' where {OURS} returning id
"""
_CLOSE: Final = f"""
update jobs set state = %(state)s, error = %(error)s, finished_at = now(), lease_until = null
where {OURS} returning id
"""
# Only one job per key and wish may be ready: if a newer one waits already, it does this work too.
_AGAIN: Final = f"""
update jobs set error = %(error)s, lease_until = null, attempt = attempt - %(forgiven)s,
    waits_for = %(who)s, waits = %(times)s,
    waits_since = case when %(times)s > 0 then coalesce(%(since)s, now()) end,
    run_after = now() + %(after)s * interval '1 second',
    finished_at = case when newer.waits then now() end,
    state = case when newer.waits then 'superseded' else 'ready' end
from (select exists (
    select from jobs as ready join jobs as ours using (key, wish)
    where ours.id = %(id)s and ready.state = 'ready') as waits) as newer
where {OURS} returning id
"""


def enqueue(
    connection: Connection, planned: Sequence[Planned], origin: Origin | None = None
) -> tuple[StoredJob, ...]:
    """Store jobs in the caller's transaction and return their rows. Workers get no message.

    A ready job with the same key and wish absorbs the new one, and its row is returned. It keeps the causes of both.
    """
    if not planned:
        return ()
    origin = origin or Origin()
    values = {"jobs": serialize_jobs(planned), "delivery": origin.delivery, "cause": origin.job}
    rows = connection.exec_driver_sql(ENQUEUE, values)
    return tuple(StoredJob(row.id, Queue(row.queue), row.is_due) for row in rows)


def claim(database: Engine, job: JobId, lease_seconds: float) -> ClaimedJob | None:
    """Claim the job with the id `job`, whoever's turn it is, for `lease_seconds`, or return None.

    Workers use `claim_next`, which is fair to all installations and heeds their pauses.

    The job must be ready and due, no other worker may be claiming it, and no job with the same key may be running. A
    job that this release cannot read is postponed by a minute.
    """
    return _claim(database, CLAIM_ONE, {"job": job, "lease": lease_seconds})


def claim_next(
    database: Engine,
    queue: Queue,
    lease_seconds: float,
    *,
    after: InstallationId = BEFORE_ALL,
    max_running: int | None = None,
) -> ClaimedJob | None:
    """Claim the job that has been due longest of the next installation, for `lease_seconds`, or return None.

    The installations take turns in the order of their ids, and `after` had the last turn. An installation is passed
    over while it has nothing due, is paused, or runs `max_running` jobs of the queue (or its own limit). The queue
    `events` ignores pauses, because recording events writes nothing on GitHub and spends no tokens. None sets no limit.
    """
    values: dict[str, Json] = {
        "queue": queue.value,
        "lease": lease_seconds,
        "after": after,
        "max_running": max_running,
        "heeds_pause": queue is not Queue.EVENTS,
    }
    return _claim(database, CLAIM_NEXT, values)


def renew_lease(database: Engine, claimed: ClaimedJob, lease_seconds: float) -> bool:
    """Let the lease of a claimed job end `lease_seconds` from now.

    Return False, changing nothing, when this worker has lost the job.
    """
    return _fetch_one(database, _RENEW, _identify(claimed) | {"lease": lease_seconds}) is not None


def fence(connection: Connection, claimed: ClaimedJob) -> None:
    """Lock a claimed job's row until the transaction ends. Raises Fenced when this worker has lost the job.

    Call it in every transaction that writes for a job, so that a worker that was paused longer than its lease writes
    nothing.
    """
    held = connection.exec_driver_sql(
        f"select from jobs where {OURS} for update", _identify(claimed)
    )
    if held.first() is None:
        raise Fenced(f"job {claimed.id}, token {claimed.token}: the job belongs to another worker")


def finish(database: Engine, claimed: ClaimedJob) -> bool:
    """Mark a job as done. Return False, changing nothing, when this worker has lost it."""
    return _close(database, claimed, "done", None)


def bury(database: Engine, claimed: ClaimedJob, error: str) -> bool:
    """Mark a job as dead, with its `error`, until a person requeues it. Return False when this worker has lost it."""
    return _close(database, claimed, "dead", error)


def step_aside(database: Engine, claimed: ClaimedJob, why: str) -> bool:
    """Mark a job as superseded by newer work, for the reason `why`. Return False when this worker has lost it."""
    return _close(database, claimed, "superseded", why)


def retry(database: Engine, claimed: ClaimedJob, error: str, after_seconds: float) -> bool:
    """Make a failed job ready again after `after_seconds`; keep its `error` for the operator.

    If a ready job already does the same work, the failed job becomes superseded. Return False when this worker has lost
    the job.
    """
    again = {"error": _clean_text(error), "after": after_seconds, "forgiven": 0}
    return _reschedule(database, claimed, again | _WAITS_FOR_NOBODY)


def postpone(
    database: Engine,
    claimed: ClaimedJob,
    why: str,
    after_seconds: float,
    who: WaitsFor | None = None,
) -> bool:
    """Make a claimed job ready again after `after_seconds`, like `retry`, but do not count the attempt.

    `why` is kept as its error. `who` is what the job waited for, such as GitHub; None for any other reason.
    """
    again = {"error": _clean_text(why), "after": after_seconds, "forgiven": 1}
    return _reschedule(database, claimed, again | _count_wait(claimed.waited, who))


def has_job_for(connection: Connection, delivery: DeliveryGuid, kind: str, wish: str = "") -> bool:
    """Return whether a webhook delivery already led to a job of this kind and wish, in any state.

    `wish` names the request that the job answers, as in `Planned`; empty for no request.
    """
    row = connection.exec_driver_sql(
        "select from jobs where delivery_guid = %(delivery)s and kind = %(kind)s and wish = %(wish)s limit 1",
        {"delivery": delivery, "kind": kind, "wish": wish},
    ).first()
    return row is not None


def has_job(
    connection: Connection, key: str, kind: str, *, done_besides: JobId | None = None
) -> bool:
    """Return whether a job of this `kind` with this `key` is stored, in any state.

    With `done_besides`, only jobs in state done count, except the job with that id.
    """
    condition = "" if done_besides is None else " and state = 'done' and id <> %(besides)s"
    row = connection.exec_driver_sql(
        f"select from jobs where key = %(key)s and kind = %(kind)s{condition} limit 1",
        {"key": key, "kind": kind, "besides": done_besides},
    ).first()
    return row is not None


def supersede(connection: Connection, keys: Sequence[str]) -> int:
    """Mark ready and running jobs with one of `keys` as superseded, and return their number.

    The worker of a running job notices this when it renews the lease.
    """
    done = connection.exec_driver_sql(
        """
        update jobs set state = 'superseded', finished_at = now(), lease_until = null
        where key = any(%(keys)s) and state in ('ready', 'running')
        """,
        {"keys": list(keys)},
    )
    return done.rowcount


def _claim(database: Engine, statement: str, values: Mapping[str, Json]) -> ClaimedJob | None:
    try:
        row = _fetch_one(database, statement, values)
    except IntegrityError:  # uq_jobs_running_key: another worker claimed the key's other job
        return None
    if row is None:
        return None
    try:
        return _build_claimed(row, parse_job(row.kind, row.payload))
    except ValueError as error:  # a worker of another release may know this kind
        log.warning("job %s needs a worker of another release: %s", row.id, error)
        unknown = _build_claimed(row, Job(row.payload.get("installation", 0)))
        postpone(database, unknown, str(error), after_seconds=60)
        return None


def _build_claimed(row: Row[Any], job: Job) -> ClaimedJob:
    return ClaimedJob(
        job=job,
        id=row.id,
        token=row.token,
        attempt=row.attempt,
        delivery=row.delivery_guid,
        weight=row.weight or 1,
        waited=Waits(WaitsFor(row.waits_for), row.waits, row.waits_since) if row.waits else None,
    )


def _close(database: Engine, claimed: ClaimedJob, state: str, error: str | None) -> bool:
    values: dict[str, Json] = {
        "state": state,
        "error": None if error is None else _clean_text(error),
    }
    return _fetch_one(database, _CLOSE, {**_identify(claimed), **values}) is not None


def _reschedule(database: Engine, claimed: ClaimedJob, values: Mapping[str, Any]) -> bool:
    try:
        return _fetch_one(database, _AGAIN, {**_identify(claimed), **values}) is not None
    except IntegrityError:  # uq_jobs_ready_key: the same work was stored in this very moment
        return _close(database, claimed, "superseded", values["error"])


def _count_wait(before: Waits | None, who: WaitsFor | None) -> dict[str, Any]:
    if before is not None and who in {None, before.who}:
        times = before.times + (who is not None)
        return {"who": before.who, "times": times, "since": before.since}
    return _WAITS_FOR_NOBODY if who is None else {"who": who, "times": 1, "since": None}


def _identify(claimed: ClaimedJob) -> dict[str, Json]:
    return {"id": claimed.id, "token": claimed.token}


def _fetch_one(database: Engine, statement: str, values: Mapping[str, Any]) -> Row[Any] | None:
    with database.connect() as connection:
        # One statement needs no transaction; autocommit saves two round trips.
        autocommit = connection.execution_options(isolation_level="AUTOCOMMIT")
        return autocommit.exec_driver_sql(statement, dict(values)).first()


def _clean_text(text: str) -> str:
    """Return text without secrets that PostgreSQL accepts: no NUL, no lone surrogates, a limited length."""
    # Mask before the cut: half a token has no shape.
    return redact(text).encode("utf-8", "replace").decode().replace("\0", "")[:ERROR_LIMIT]
