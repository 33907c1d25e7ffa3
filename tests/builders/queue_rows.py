"""A few words for tests to speak with the queue of record."""

from sqlalchemy import Connection, Engine, insert, text

from app.db.store.queue import jobs, upkeep
from app.db.store.queue.job_rows import Origin, StoredJob
from app.db.tables.schema import deliveries, delivery_bodies
from app.jobs.job import EvaluateIssue, Job, LocateIssues, Planned
from app.policy.event_policy import BY_COMMAND
from app.values.identifiers import CommentId, InstallationId, IssueNumber, PullNumber, RepositoryId

LEASE = 60.0


def an_issue(
    number: int = 1, trigger: str = "pull_request", asked_in: int | None = None
) -> EvaluateIssue:
    place = (InstallationId(5), RepositoryId(7), IssueNumber(number))
    return EvaluateIssue(*place, trigger, None if asked_in is None else CommentId(asked_in))


def a_pull(number: int = 1) -> LocateIssues:
    return LocateIssues(InstallationId(5), RepositoryId(7), PullNumber(number))


def put(
    database: Engine,
    *wanted: Job,
    delay: float = 0.0,
    delivery: str | None = None,
) -> tuple[StoredJob, ...]:
    """Store jobs, committed."""
    planned = [Planned(job, delay, _wish(job)) for job in wanted]
    with database.begin() as connection:
        return jobs.enqueue(connection, planned, Origin(delivery))


def _wish(job: Job) -> str:
    asked = isinstance(job, EvaluateIssue) and job.trigger == BY_COMMAND
    return f"{BY_COMMAND}:{job.asked_in}" if asked else ""


def rows(database: Engine, columns: str = "state") -> list[object]:
    """Columns of all jobs in the order of their ids; bare values when it is one column."""
    with database.connect() as connection:
        found = connection.execute(text(f"select {columns} from jobs order by id")).all()
    return [tuple(row) if len(row) > 1 else row[0] for row in found]


def execute(database: Engine, statement: str) -> None:
    """Do to the database what time or a stranger would."""
    with database.begin() as connection:
        connection.execute(text(statement))


def expire_leases(database: Engine) -> tuple[int, ...]:
    """End all leases and take their jobs back; return the jobs that are dead now."""
    let_leases_end(database)
    with database.begin() as connection:
        return upkeep.release_expired(connection, max_attempts=3)


def let_leases_end(database: Engine) -> None:
    execute(
        database, "update jobs set lease_until = now() - interval '1 s' where state = 'running'"
    )


def insert_delivery(connection: Connection, body: bytes, **columns: object) -> None:
    """Insert a webhook delivery and its body, as the web process does."""
    key = (deliveries.c.id, deliveries.c.received_at)
    row = connection.execute(insert(deliveries).values(**columns).returning(*key)).one()
    kept = {"delivery_id": row.id, "received_at": row.received_at, "body": body}
    connection.execute(insert(delivery_bodies).values(**kept))
