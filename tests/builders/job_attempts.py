"""One attempt at a job by its handler, claimed and finished on the real queue of record."""

import threading

from sqlalchemy import select

from app.db.session import transaction
from app.db.store.queue import jobs
from app.db.tables.schema import jobs as job_table
from app.jobs.job import Planned, parse_job
from worker.queue.context import Context


def carry_out(database, handler, job):
    """Store the job, claim it, run it, finish it. Raises what the handler raises."""
    with transaction(database) as connection:
        (stored,) = jobs.enqueue(connection, [Planned(job)])
    claimed = jobs.claim(database, stored.id, 60)
    handler(Context(database, claimed, threading.Event(), lambda: False), job)
    assert jobs.finish(database, claimed)


def waiting(database):
    """The jobs that are ready, in the order they were stored."""
    with transaction(database) as connection:
        rows = connection.execute(
            select(job_table).where(job_table.c.state == "ready").order_by(job_table.c.id)
        )
        return [parse_job(row.kind, row.payload) for row in rows]
