"""Query the queue of record as a whole: due, abandoned, dead and waiting jobs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.exc import IntegrityError

from app.db.store.queue.job_rows import StoredJob
from app.db.tables.schema import etags, ignored_deliveries, jobs
from app.jobs.job import ForgetCheckout, PurgeData, Queue, Reconcile, Redeliver, TidyCheckouts
from app.jobs.learning_jobs import RefitCalibrators, TrainModel, UnloadAdapters
from app.jobs.outcome_jobs import PollReactions
from app.values.identifiers import InstallationId, JobId, RepositoryId

OUTLIVE: Final = (PurgeData.kind, ForgetCheckout.kind)
"""Kinds of jobs that the purge of an installation itself needs."""
PRUNE: Final = """
delete from jobs where id in (select id from jobs where state in ('done','superseded')
    and finished_at < now() - %(days)s * interval '1 day' order by finished_at limit %(limit)s)
"""
"""Must repeat the condition of the index `ix_jobs_ended`; otherwise PostgreSQL reads the whole
table."""
COUNTS: Final = """
select queue, state, count(*) as jobs, coalesce(extract(epoch from now() - case state
    when 'ready' then min(run_after) filter (where run_after < now())
    when 'running' then min(claimed_at) end), 0) as seconds
from jobs where state = 'ready' or state = 'running' or state = 'dead'
group by queue, state order by queue, state
"""
"""Names each state as its partial index does; most jobs of a month are done and not counted."""
LAST_DONE: Final = """
select claimed_at from jobs where state in ('done','superseded')
    and state = 'done' and kind = %(kind)s order by finished_at desc limit 1
"""
"""Must repeat the condition of the index `ix_jobs_ended`, which PostgreSQL then reads from its end."""
BY_THE_CLOCK: Final = (
    Reconcile.kind,
    PollReactions.kind,
    Redeliver.kind,
    TidyCheckouts.kind,
    RefitCalibrators.kind,
    TrainModel.kind,
    UnloadAdapters.kind,
)
"""Periodic kinds: a later job that is done makes up for earlier dead ones."""
PRUNE_DEAD: Final = """
delete from jobs where state = 'dead' and kind = any(%(kinds)s) and exists (
    select from jobs as later where later.state in ('done','superseded') and later.state = 'done'
        and later.key = jobs.key and later.finished_at > jobs.finished_at)
"""
LEFT_BEHIND: Final = "its lease ended: the worker died, hung or lost the database"


@dataclass(frozen=True, slots=True)
class DeadJob:
    """A job that gave up: `error` says why, and `since` when."""

    id: JobId
    kind: str
    key: str | None
    error: str | None
    since: datetime | None


@dataclass(frozen=True, slots=True)
class Count:
    """The number of jobs of one queue in one state.

    `seconds` is how long the oldest due job has been due, or the longest running job has run; 0 without such a job.
    """

    queue: str
    state: str
    jobs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """The number of ready jobs that wait for the same thing, and the longest wait in seconds.

    `who` is what they wait for, a value of `WaitsFor`.
    """

    who: str
    jobs: int
    seconds: float


def list_due(connection: Connection, queue: Queue, limit: int) -> tuple[StoredJob, ...]:
    """Lock and list jobs of a queue that are due, at most `limit`, in no particular order.

    Jobs that another transaction claims at this moment are left out. The locks end with the transaction.
    """
    chosen = (
        select(jobs.c.id)
        .where(jobs.c.queue == queue.value, jobs.c.state == "ready", jobs.c.run_after <= func.now())
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return tuple(StoredJob(JobId(id_), queue, is_due=True) for id_ in connection.scalars(chosen))


def count_waiting(connection: Connection) -> tuple[Waiting, ...]:
    """Count the ready jobs that wait for GitHub, the engine and so on: one `Waiting` per value of `WaitsFor`."""
    rows = connection.exec_driver_sql(
        """
        select waits_for, count(*) as jobs, extract(epoch from now() - min(waits_since)) as seconds
        from jobs where state = 'ready' and waits > 0 group by waits_for order by waits_for
        """
    )
    return tuple(Waiting(row.waits_for, row.jobs, float(row.seconds)) for row in rows)


def count_connections(connection: Connection) -> dict[tuple[str, str], int]:
    """Count the bot's connections to this database, by the kind of their process and its version."""
    rows = connection.exec_driver_sql(
        """
        select split_part(application_name, ' ', 1) as process,
            split_part(application_name, ' ', 2) as version, count(*) as connections
        from pg_stat_activity
        where datname = current_database() and application_name ~ '^r4p-[a-z]+ [^ ]+$'
        group by 1, 2
        """
    )
    return {(row.process.removeprefix("r4p-"), row.version): row.connections for row in rows}


def release_expired(connection: Connection, max_attempts: int) -> tuple[JobId, ...]:
    """Release running jobs whose worker stopped renewing the lease, and return the ids of those now dead.

    A released job is ready again, dead after `max_attempts` attempts, or superseded when a ready job does the same
    work.
    """
    rows = connection.exec_driver_sql(
        """
        update jobs set lease_until = null, run_after = now(),
            error = %(why)s || ' (attempt ' || attempt || ')',
            finished_at = case when judged.state <> 'ready' then now() end, state = judged.state
        from (
            select id, case
                when attempt >= %(limit)s then 'dead'
                when exists (select from jobs as ready
                    where ready.key = expired.key and ready.wish = expired.wish
                        and ready.state = 'ready') then 'superseded'
                else 'ready' end as state
            from jobs as expired where state = 'running' and lease_until < now()
            for update of expired skip locked) as judged
        where jobs.id = judged.id
        returning jobs.id, jobs.state
        """,
        {"why": LEFT_BEHIND, "limit": max_attempts},
    )
    return tuple(row.id for row in rows if row.state == "dead")


def list_dead(connection: Connection, limit: int = 100) -> tuple[DeadJob, ...]:
    """List the newest dead jobs, at most `limit`, newest first."""
    rows = connection.execute(
        select(jobs.c.id, jobs.c.kind, jobs.c.key, jobs.c.error, jobs.c.finished_at)
        .where(jobs.c.state == "dead")
        .order_by(jobs.c.id.desc())
        .limit(limit)
    )
    return tuple(DeadJob(*row) for row in rows)


def requeue(connection: Connection, job: JobId) -> bool:
    """Make the dead job with the id `job` ready again, with no attempt counted, and return True.

    Returns False, changing nothing, when the job is not dead, or when another ready job does the same work.
    """
    try:
        with connection.begin_nested():
            changed = connection.execute(
                jobs.update()
                .where(jobs.c.id == job, jobs.c.state == "dead")
                .values(
                    state="ready",
                    attempt=0,
                    error=None,
                    finished_at=None,
                    run_after=func.now(),
                    waits_for=None,
                    waits=0,
                    waits_since=None,
                )
            )
    except IntegrityError:  # uq_jobs_ready_key
        return False
    return bool(changed.rowcount)


def count_jobs(connection: Connection) -> tuple[Count, ...]:
    """Count ready, running and dead jobs, with one `Count` for each queue and state."""
    rows = connection.exec_driver_sql(COUNTS)
    return tuple(Count(row.queue, row.state, row.jobs, float(row.seconds)) for row in rows)


def find_last_done(connection: Connection, kind: str) -> datetime | None:
    """Return when a worker claimed the last finished job of the kind `kind`; None when none has finished."""
    begun: datetime | None = connection.exec_driver_sql(LAST_DONE, {"kind": kind}).scalar()
    return begun


def count_ignored(connection: Connection) -> dict[str, int]:
    """Return how many webhook deliveries the bot has ignored, by reason."""
    rows = connection.execute(select(ignored_deliveries.c.reason, ignored_deliveries.c.count))
    return {reason: int(count) for reason, count in rows}


def supersede_jobs_of(
    connection: Connection, installation: InstallationId, repository: RepositoryId | None
) -> int:
    """Mark the ready and running jobs of an installation as superseded, and return their number.

    `repository` limits them to one repository; None: all. Jobs that the purge itself needs go on.
    """
    where = [jobs.c.installation_id == installation, jobs.c.state.in_(["ready", "running"])]
    if repository is not None:
        where.append(jobs.c.repository_id == repository)
    where.append(jobs.c.kind.not_in(OUTLIVE))
    changed = connection.execute(
        jobs.update()
        .where(*where)
        .values(state="superseded", finished_at=func.now(), lease_until=None)
    )
    return changed.rowcount


def prune_etags(connection: Connection, days: int) -> int:
    """Delete cached GitHub responses that were stored more than `days` days ago; return how many were deleted.

    A response that GitHub did not change since is not stored again, so it counts as old.
    """
    age = func.make_interval(0, 0, 0, days)
    return connection.execute(delete(etags).where(etags.c.updated_at < func.now() - age)).rowcount


def prune_jobs(connection: Connection, days: int, limit: int = 50_000) -> int:
    """Delete at most `limit` jobs done or superseded more than `days` days ago; return how many. Dead jobs stay."""
    done = connection.exec_driver_sql(PRUNE, {"days": days, "limit": limit})
    return done.rowcount


def prune_dead(connection: Connection) -> int:
    """Delete dead periodic jobs for which a later job with the same key is done; return how many were deleted."""
    return connection.exec_driver_sql(PRUNE_DEAD, {"kinds": list(BY_THE_CLOCK)}).rowcount
