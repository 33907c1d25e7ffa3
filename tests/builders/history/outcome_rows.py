"""What happens to pull requests after a verdict, and what is told of it."""

from datetime import timedelta

from sqlalchemy import func, select

from app.db.store.outcomes import outcome_events, outcomes
from app.db.tables.schema import candidates
from app.db.tables.schema import evaluation_candidates as submitted
from app.outcomes import Details, EventKind, OutcomeEvent
from app.values.identifiers import CommitSha, DeliveryGuid
from tests.builders.history import stored_outcomes
from tests.builders.history.stored_verdict import BASE, PUBLISHED_AT, REPOSITORY, head_of

OTHER = CommitSha("f" * 40)
MERGE_COMMIT = CommitSha("e" * 40)
AFTER = PUBLISHED_AT.replace(microsecond=0)


def build_event(kind, pull=None, hours=1.0, source=None, **fields):
    details = {name: fields.pop(name) for name in list(fields) if hasattr(Details(), name)}
    return OutcomeEvent(
        kind,
        source or f"{kind}:{pull}:{hours}",
        AFTER + timedelta(hours=hours),
        pull=pull,
        details=Details(**details),
        **fields,
    )


def build_merge(pull, hours=1.0, **fields):
    fields = {"head": head_of(pull), "base": BASE, "commit": MERGE_COMMIT, **fields}
    return build_event(EventKind.PULL_MERGED, pull, hours, **fields)


def build_close(pull, hours=2.0, **fields):
    return build_event(EventKind.PULL_CLOSED, pull, hours, head=head_of(pull), **fields)


def record(connection, *events):
    outcome_events.append(connection, REPOSITORY, events, DeliveryGuid("guid"))
    touched = outcome_events.find_touched_pulls(connection, REPOSITORY, events)
    outcomes.rederive(connection, REPOSITORY, touched)
    return touched


def list_outcomes(connection, group):
    rows = stored_outcomes.list_rows(connection, group)
    return [(row.pull, str(row.kind), row.reason) for row in rows]


def evaluation_of(connection, pull):
    """The newest evaluation of a pull request."""
    ((newest,),) = connection.execute(
        select(func.max(submitted.c.evaluation_id))
        .join(candidates, candidates.c.id == submitted.c.candidate_id)
        .where(candidates.c.pull_number == pull)
    )
    return newest


def list_places(connection, group):
    """Which head of which pull request, and the verdict that was read."""
    rows = stored_outcomes.list_rows(connection, group)
    return [(row.pull, row.head_sha, row.evaluation) for row in rows]
