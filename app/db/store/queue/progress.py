"""Read and write what people may know of a job: its progress and what it waits for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Interval, func, select, type_coerce

from app.db.store.queue.jobs import OURS, ClaimedJob
from app.db.tables.schema import jobs
from app.jobs.waits import Waits, WaitsFor

_AGE: Final = type_coerce(func.now() - jobs.c.created_at, Interval())


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job that a person asked for: its payload, its state, and its progress or error in words."""

    payload: Mapping[str, Any]
    state: str
    progress: str | None
    error: str | None
    moment: datetime
    """When the person asked."""
    age: timedelta


def list_reports(connection: Connection, kind: str, limit: int) -> list[JobReport]:
    """List the newest jobs of a kind, at most `limit`, newest first."""
    columns = (jobs.c.payload, jobs.c.state, jobs.c.progress, jobs.c.error, jobs.c.created_at)
    query = (
        select(*columns, _AGE).where(jobs.c.kind == kind).order_by(jobs.c.id.desc()).limit(limit)
    )
    return [JobReport(*row) for row in connection.execute(query)]


def read_age(connection: Connection, claimed: ClaimedJob) -> timedelta:
    """Return the time since the job was stored."""
    return connection.execute(select(_AGE).where(jobs.c.id == claimed.id)).scalar_one()


def set_progress(connection: Connection, claimed: ClaimedJob, progress: str) -> None:
    """Save a running job's progress in words for people; do nothing when this worker has lost the job."""
    connection.exec_driver_sql(
        f"update jobs set progress = %(progress)s where {OURS}",
        {"id": claimed.id, "token": claimed.token, "progress": progress},
    )


def read_progress(connection: Connection, key: str) -> str | None:
    """Read the progress of the running job with this key.

    Returns "" before the job reports progress, and None when no job with this key runs.
    """
    row = connection.exec_driver_sql(
        "select coalesce(progress, '') as progress from jobs where key = %(key)s and state = 'running'",
        {"key": key},
    ).first()
    return None if row is None else str(row.progress)


def read_waits(connection: Connection, keys: Sequence[str]) -> Waits | None:
    """Return the wait that began first of the ready jobs with one of `keys`; None if none of them waits."""
    row = connection.exec_driver_sql(
        """
        select waits_for, waits, waits_since from jobs
        where key = any(%(keys)s) and state = 'ready' and waits > 0 order by waits_since limit 1
        """,
        {"keys": list(keys)},
    ).first()
    return None if row is None else Waits(WaitsFor(row.waits_for), row.waits, row.waits_since)
