"""What people may know of a job: how far it is, and for whom it waits."""

from collections.abc import Sequence

from sqlalchemy import Connection

from app.db.store.queue.jobs import OURS, ClaimedJob
from app.jobs.waits import Waits, WaitsFor


def set_progress(connection: Connection, claimed: ClaimedJob, progress: str) -> None:
    """Say how far a job is, in words for a person; nothing is said for one that is no longer ours."""
    connection.exec_driver_sql(
        f"update jobs set progress = %(progress)s where {OURS}",
        {"id": claimed.id, "token": claimed.token, "progress": progress},
    )


def read_progress(connection: Connection, key: str) -> str | None:
    """How far the running job of a key is, empty when it hasn't said; None: none is running."""
    row = connection.exec_driver_sql(
        "select coalesce(progress, '') as said from jobs where key = %(key)s and state = 'running'",
        {"key": key},
    ).first()
    return None if row is None else str(row.said)


def read_waits(connection: Connection, keys: Sequence[str]) -> Waits | None:
    """For whom the jobs of these keys wait, the longest first; None: none does."""
    row = connection.exec_driver_sql(
        """
        select waits_for, waits, waits_since from jobs
        where key = any(%(keys)s) and state = 'ready' and waits > 0 order by waits_since limit 1
        """,
        {"keys": list(keys)},
    ).first()
    return None if row is None else Waits(WaitsFor(row.waits_for), row.waits, row.waits_since)
