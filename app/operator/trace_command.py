"""`r4p trace`: shows the way from a webhook delivery or an issue to every comment and check run."""

import re
import sys
from dataclasses import asdict
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection

from app.db.session import open_database, transaction
from app.db.store.queue import job_trace
from app.db.store.queue.job_trace import TraceStep
from app.values.identifiers import DeliveryGuid
from model.commands.exit_codes import print_json

_UNKNOWN = 1
_USAGE = 2


def show(subject: str, repository: str | None, *, as_json: bool) -> int:
    """Print the steps of a delivery's GUID or of the issue or pull request `#N`, as a table or as JSON.

    `repository` is needed when several repositories have a number N. Returns the exit code: 1 if nothing is known of
    the subject, 2 if it is ambiguous or no subject, else 0.
    """
    number = re.fullmatch(r"#?(\d{1,18})", subject)
    with open_database() as database, transaction(database) as connection:
        if number is None:
            steps = job_trace.trace_delivery(connection, DeliveryGuid(subject))
        else:
            traced = _trace_number(connection, int(number[1]), repository)
            if isinstance(traced, int):
                return traced
            steps = traced
    if not steps:
        sys.stderr.write(
            f"r4p trace: nothing is known of {subject}: give a delivery's GUID or #N\n"
        )
        return _UNKNOWN
    if as_json:
        print_json([_build_document(step) for step in steps])
    else:
        Console().print(_build_table(steps))
    return 0


def _trace_number(
    connection: Connection, number: int, repository: str | None
) -> tuple[TraceStep, ...] | int:
    """Return the steps of a number, or the exit code when its repository is not clear."""
    places = job_trace.find_repositories(connection, number, repository)
    if len(places) > 1:
        names = ", ".join(place.full_name for place in places)
        sys.stderr.write(f"r4p trace: #{number} is ambiguous: add --repository, one of {names}\n")
        return _USAGE
    return job_trace.trace_issue(connection, places[0].id, number) if places else ()


def _build_document(step: TraceStep) -> dict[str, object]:
    return {
        name: _format_iso(value) if isinstance(value, datetime) else value
        for name, value in asdict(step).items()
    }


def _build_table(steps: tuple[TraceStep, ...]) -> Table:
    table = Table(title_justify="left", show_edge=False)
    for heading in ("Delivery", "Received", "Job", "Evaluation", "Wrote", "At"):
        table.add_column(heading, overflow="fold")
    for step in steps:
        wrote = "" if step.effect is None else f"{step.effect} = {step.github_id}"
        job = f"{step.job} {step.kind or 'deleted'} {step.state or ''}".strip()
        delivery = " ".join(filter(None, [step.event, step.delivery]))
        table.add_row(
            delivery,
            _format_iso(step.received_at),
            job,
            str(step.evaluation or ""),
            wrote,
            _format_iso(step.confirmed_at),
        )
    return table


def _format_iso(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds")
