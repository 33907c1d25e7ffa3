"""A database with the roles of the processes: jobs of one tenant are running, and another tenant has secrets."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from sqlalchemy import Connection, Engine, insert, text, update
from sqlalchemy.exc import ProgrammingError

from app.db import process_roles
from app.db.process_grants import ProcessRole
from app.db.process_roles import build_role_url
from app.db.session import create_database_engine
from app.db.store.alternatives import attempts, drafts
from app.db.store.alternatives.attempts import Place
from app.db.store.alternatives.drafts import DraftRequest
from app.db.store.evidence import group_tests, reproduction_tests
from app.db.store.evidence.group_tests import SuiteRequest
from app.db.store.evidence.reproduction_tests import WritingTask
from app.db.store.issues import evaluations, votes
from app.db.store.issues.evaluations import NewEvaluation
from app.db.store.queue import jobs
from app.db.store.queue.job_rows import Origin
from app.db.tables.schema import evaluation_candidates, installations, repositories
from app.jobs.draft_jobs import OpenDraft
from app.jobs.job import Planned, ProposePatches, PublishVerdict, Queue, VerifyGroup
from app.jobs.suite_jobs import RunTests
from app.values.identifiers import (
    AlternativeNumber,
    CommentId,
    EvaluationId,
    InstallationId,
    IssueNumber,
    RepositoryId,
)
from model.domain import Issue, Vote
from tests.builders.github.pull_requests import build_pull
from tests.builders.history import stored_verdict
from tests.builders.queue_rows import LEASE

OTHER = (InstallationId(8), RepositoryId(80), IssueNumber(9))
OWN = (stored_verdict.INSTALLATION, stored_verdict.REPOSITORY, stored_verdict.ISSUE)
SECRET = "a diff of another private repository"


@dataclass(frozen=True)
class Tenant:
    """What one installation has in the database: ids of its rows."""

    group: int
    evaluation: EvaluationId
    attempt: int
    draft: int


@dataclass
class Scene:
    """A database in which the jobs of one tenant are running, and those of another tenant wait or have ended."""

    url: str
    owner: Engine
    own: Tenant
    other: Tenant

    def log_in(self, process: str) -> Engine:
        """Open the database as a process does."""
        return create_database_engine(build_role_url(self.url, process), pool_size=1)

    def attempt(self, process: str, statement: str, **values: object) -> int:
        """The number of rows that a statement of a process changes or finds; it is rolled back. Raises what it raises."""
        database = self.log_in(process)
        try:
            with database.connect() as connection:
                return connection.execute(text(statement), values).rowcount
        finally:
            database.dispose()

    def has_effect(self, process: str, statement: str) -> bool:
        """Whether PostgreSQL lets a process change or read rows with a statement, which may name the tenants' ids."""
        try:
            return self.attempt(process, statement.format(own=self.own, other=self.other)) > 0
        except ProgrammingError as error:
            if isinstance(error.orig, psycopg.errors.InsufficientPrivilege):
                return False
            raise


@contextmanager
def open_scene(services) -> Iterator[Scene]:
    """Create the database and the roles; the roles end with the context."""
    with services.database() as url:
        process_roles.create_roles(url, can_log_in=True)
        owner = create_database_engine(url, pool_size=2)
        with owner.begin() as connection:
            group = stored_verdict.settle(connection)
            own = _add_tenant(connection, group, OWN, "diff of our own")
            other = _add_tenant(connection, _settle_other(connection), OTHER, SECRET)
            _add_secrets(connection, other)
        _add_jobs(owner, own, other)
        yield Scene(url, owner, own, other)
        owner.dispose()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"drop owned by {', '.join(ProcessRole)}")
    with psycopg.connect(services.embedded.database_url, autocommit=True) as connection:
        for role in ProcessRole:
            connection.execute(f"drop role {role}")


def _settle_other(connection: Connection) -> int:
    connection.execute(insert(installations).values(id=OTHER[0], account="other"))
    values = {"id": OTHER[1], "installation_id": OTHER[0], "full_name": "other/private"}
    connection.execute(insert(repositories).values(values))
    texts = ("Their title", "Their secret")
    group = stored_verdict.groups.upsert_group(connection, OTHER[1], OTHER[2], texts, "open")
    pull = build_pull(1, "open", stored_verdict.head_of(1), stored_verdict.BASE, "main")
    stored_verdict.groups.upsert_pulls(connection, OTHER[1], [pull])
    return group


def _add_tenant(connection: Connection, group: int, place, diff: str) -> Tenant:
    candidate = stored_verdict.build_candidate(1 if place is OTHER else stored_verdict.LATE, diff)
    new = NewEvaluation(group, "issue", "advisory", 4, "Their title", "Text", (candidate,))
    evaluation = evaluations.create(connection, place[1], new).id
    spot = Place(place[1], group, stored_verdict.BASE, Issue("Their title", "Text"))
    record = stored_verdict.build_attempt(patch=f"agent's {diff}")
    attempt = attempts.save(connection, spot, record, AlternativeNumber(1))
    request = DraftRequest(CommentId(1), 1, "maintainer")
    group_tests.request(connection, evaluation, SuiteRequest("pytest", "py", 60, "main", None))
    reproduction_tests.request(connection, evaluation, WritingTask(2, None))
    draft = drafts.request_draft(connection, place[1], attempt, request).id
    return Tenant(group, evaluation, attempt, draft)


def _add_secrets(connection: Connection, tenant: Tenant) -> None:
    """Give the other tenant what a taken-over worker may want to read or change."""
    vote = Vote(seed=1, seats=(), correct=None, reply="their reply", forced=False)
    votes.save(connection, tenant.evaluation, 0, vote)
    connection.execute(
        update(evaluation_candidates)
        .where(evaluation_candidates.c.evaluation_id == tenant.evaluation)
        .values(verdict="correct", reason="their reason")
    )
    rows = {
        "evaluation_alternatives (evaluation_id, attempt_id, position, verdict)": (
            f"{tenant.evaluation}, {tenant.attempt}, 1, 'correct'"
        ),
        "rubrics (evaluation_id, digest, document)": f"{tenant.evaluation}, 'd', '{{}}'",
        "agent_runs (repository_id, tokens, seconds)": f"{OTHER[1]}, 5, 5",
        "group_members (group_id, pull_number, strength)": f"{tenant.group}, 1, 'closes'",
        "effects (key, repository_id, state, content, job_id, token)": (
            f"'comment:group:{tenant.group}', {OTHER[1]}, 'planned', 'their verdict', 1, 1"
        ),
        "etags (installation_id, path, etag, body)": f"{OTHER[0]}, '/p', 'e', 'their body'",
        "write_limits (installation_id, state)": f"{OTHER[0]}, '{{}}'",
        "calibrators (verifier, engine, model, prompt_fingerprint, installation_id, state, why, document, label_rule,"
        " issues, correct, incorrect, seen, brier)": (
            f"'v', 'e', 'm', 'p', {OTHER[0]}, 'active', '', '{{}}', 0, 1, 1, 1, '[]', 0.1"
        ),
    }
    for table, values in rows.items():
        connection.execute(text(f"insert into {table} values ({values})"))


def _add_jobs(owner: Engine, first: Tenant, second: Tenant) -> None:
    """Let each worker run a job of the own tenant; the other tenant's jobs wait, and earlier ones ended an hour ago."""

    def store(job, delivery=None):
        with owner.begin() as connection:
            return jobs.enqueue(connection, [Planned(job)], Origin(delivery))[0].id

    for build, queue in (
        (lambda place, tenant: VerifyGroup(*place, tenant.evaluation), Queue.VERIFY),
        (lambda place, tenant: ProposePatches(*place, tenant.evaluation), Queue.AGENTS),
        (lambda place, tenant: RunTests(*place, tenant.evaluation), Queue.TESTS),
        (lambda place, tenant: OpenDraft(*place[:2], tenant.draft), Queue.WRITER),
    ):
        for state in ("done", "dead"):
            ended = store(build(OTHER, second))
            with owner.begin() as connection:
                changes = f"state = '{state}', attempt = 1, finished_at = now() - interval '1 hour'"
                connection.execute(text(f"update jobs set {changes} where id = {ended}"))
        store(build(OWN, first), "own-delivery")
        assert jobs.claim_next(owner, queue, LEASE)
        store(build(OTHER, second), "other-delivery")
    store(PublishVerdict(*OWN, first.evaluation), "own-delivery")
