"""`r4p jobs`: shows the jobs that gave up, and tries them again."""

import sys
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table

from app.db.session import open_database, transaction
from app.db.store.queue import upkeep
from app.db.store.queue.upkeep import DeadJob
from app.values.identifiers import JobId
from model.commands.exit_codes import print_json

_ALL = 1_000_000


def show(*, as_json: bool) -> int:
    """Print the jobs that gave up, newest first, as a table or as JSON. Returns exit code 0."""
    with open_database() as database, transaction(database) as connection:
        dead = upkeep.list_dead(connection, _ALL)
    if as_json:
        print_json([_document(job) for job in dead])
    else:
        Console().print(_build_table(dead) if dead else "No job has given up.")
    return 0


def requeue(which: str) -> int:
    """Make the dead job with the id `which` ready again, or every dead job if `which` is `all`.

    Returns the exit code: 1 if a job is not dead or the same work waits already, 2 for a wrong id, else 0.
    """
    if which != "all" and not which.isdecimal():
        sys.stderr.write(f"r4p: --requeue {which}: give a job's id, or all\n")
        return 2
    with open_database() as database, transaction(database) as connection:
        ids = (
            [job.id for job in upkeep.list_dead(connection, _ALL)]
            if which == "all"
            else [int(which)]
        )
        refused = [id_ for id_ in ids if not upkeep.requeue(connection, JobId(id_))]
    sys.stdout.write(f"{len(ids) - len(refused)} of {len(ids)} jobs will be tried again\n")
    for id_ in refused:
        sys.stderr.write(
            f"r4p: job {id_} is not dead, or a job with the same key waits already: see r4p jobs\n"
        )
    return 1 if refused else 0


def _document(job: DeadJob) -> dict[str, object]:
    since = _format_since(job.since)
    return {"id": job.id, "kind": job.kind, "key": job.key, "error": job.error, "since": since}


def _build_table(dead: tuple[DeadJob, ...]) -> Table:
    table = Table(title="Jobs that gave up", title_justify="left", show_edge=False)
    for heading in ("Id", "Kind", "Key", "Since", "Error"):
        table.add_column(heading, overflow="fold")
    for job in dead:
        error = (job.error or "").replace("[", "\\[")
        table.add_row(str(job.id), job.kind, job.key or "", _format_since(job.since), error)
    return table


def _format_since(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
