"""A small repository in the database: one issue, three rivals, a verdict that can be published."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import insert, select, update

from app.db.store.alternatives.attempts import AttemptRecord
from app.db.store.issues import candidates, evaluations, groups
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluations import NewEvaluation
from app.db.tables.schema import evaluations as evaluation_table
from app.db.tables.schema import installations, repositories
from app.values.identifiers import CommitSha, InstallationId, IssueNumber, PullNumber, RepositoryId
from model.domain import EngineInfo, Tokens
from tests.builders.github.pull_requests import build_pull

INSTALLATION = InstallationId(7)
REPOSITORY = RepositoryId(70)
ISSUE = IssueNumber(3)
FIRST, SECOND, LATE = (PullNumber(number) for number in (12, 13, 14))
BASE = CommitSha("b" * 40)
JUDGED_AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
PUBLISHED_AT = datetime(2026, 3, 1, 9, 30, 0, 700_000, tzinfo=UTC)


def head_of(pull):
    return CommitSha(f"{pull:040x}")


def build_candidate(pull, diff="diff"):
    """Build the candidate of a pull request at its first head."""
    return Candidate(pull, head_of(pull), BASE, diff, 1)


def build_attempt(**changes):
    """Build the record of an attempt by Mini-SE that submitted nothing yet."""
    record = AttemptRecord(
        "mini-se", EngineInfo("scripted", "m", ""), 0, "submitted", 3, Tokens(), 1.0, None
    )
    return replace(record, **changes)


def settle(connection):
    """The issue's group, with the first two pull requests judged and published; returns its id."""
    connection.execute(insert(installations).values(id=INSTALLATION, account="octo"))
    connection.execute(
        insert(repositories).values(
            id=REPOSITORY, installation_id=INSTALLATION, full_name="octo/cat"
        )
    )
    pulls = (FIRST, SECOND, LATE)
    groups.upsert_pulls(connection, REPOSITORY, [_pull(pull) for pull in pulls])
    group = groups.upsert_group(connection, REPOSITORY, ISSUE, ("Crash", "On empty"), "open")
    groups.save_links(connection, group, [(pull, "closes") for pull in pulls])
    judge(connection, group, (FIRST, SECOND))
    return group


def judge(connection, group, pulls, mode="advisory", heads=None, days=0):
    """An evaluation of these pull requests, verified and published at fixed times, or days later."""
    heads = {pull: head_of(pull) for pull in pulls} | (heads or {})
    submitted = tuple(Candidate(pull, heads[pull], BASE, f"diff of {pull}", 1) for pull in pulls)
    later = timedelta(days=days)
    new = NewEvaluation(group, "issue", mode, 4, "Crash", "On empty", submitted)
    created = evaluations.create(connection, REPOSITORY, new)
    connection.execute(
        update(evaluation_table)
        .where(evaluation_table.c.id == created.id)
        .values(
            state="published",
            verified_at=JUDGED_AT + later,
            published_at=PUBLISHED_AT + later,
        )
    )


def collect(connection, pull, head, diff):
    """A candidate that was read and not judged."""
    candidates.save(connection, REPOSITORY, Candidate(pull, head, BASE, diff, 1))


def count(connection, table):
    """How many rows a table has."""
    return len(connection.execute(select(table)).all())


def _pull(pull):
    return build_pull(pull, "open", head_of(pull), BASE, "main")
