"""`r4p trace`: from a delivery or an issue to every comment, and a message where there is no way."""

import json
import threading

import pytest
from sqlalchemy import insert
from typer.testing import CliRunner

from app.cli import main
from app.db.session import transaction
from app.db.store.queue import jobs
from app.db.tables.schema import installations, repositories
from app.github.api.effect_store import EffectKey
from app.jobs.job import Planned, PublishVerdict, RecordEvent
from app.values.identifiers import InstallationId, RepositoryId, RepositoryRef
from tests.builders.queue_rows import LEASE, an_issue, execute, put
from worker.queue.context import Context

pytestmark = pytest.mark.services
PLACE = RepositoryRef(InstallationId(5), RepositoryId(7), "octo/area")


@pytest.fixture
def r4p(database, database_url, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    with transaction(database) as connection:
        connection.execute(insert(installations).values(id=5, account="octo"))
        for number, name in ((7, "octo/area"), (8, "octo/other")):
            columns = {"id": number, "installation_id": 5, "default_branch": "main"}
            connection.execute(insert(repositories).values(full_name=name, **columns))
    return lambda *arguments: CliRunner().invoke(main, ["trace", *arguments])


def open_context(database, job):
    return Context(database, jobs.claim(database, job, LEASE), threading.Event(), lambda: False)


def deliver(database, guid):
    """A delivery whose job wants issue 1 evaluated; return the id of that job, which absorbs equal ones."""
    (event,) = put(database, RecordEvent(InstallationId(5), guid), delivery=guid)
    context = open_context(database, event.id)
    with context.transaction() as connection:
        context.enqueue(connection, [Planned(an_issue(1))])
    assert jobs.finish(database, context.claimed)
    return context.stored[0].id


def publish(database, evaluate):
    """Let the evaluation's job lead to a verdict with evaluation 9 and comment 501."""
    context = open_context(database, evaluate)
    with context.transaction() as connection:
        job = PublishVerdict(InstallationId(5), RepositoryId(7), 1, 9)
        context.enqueue(connection, [Planned(job)])
    publishing = open_context(database, context.stored[0].id)
    effects = publishing.open_effects(9)
    effects.plan(EffectKey(PLACE, "comment:group:3"), "{}")
    assert effects.confirm(EffectKey(PLACE, "comment:group:3"), 501)


@pytest.mark.parametrize("subject", ["first", "second", "#1"])
def test_each_delivery_of_a_burst_leads_to_the_comment(database, r4p, subject):
    absorbing = [deliver(database, guid) for guid in ("first", "second")]
    assert absorbing[0] == absorbing[1]
    publish(database, absorbing[0])
    steps = json.loads(r4p(subject, "--json").stdout)
    kinds = {"record_event", "evaluate_issue", "publish_verdict"}
    assert {step["kind"] for step in steps} == kinds
    (wrote,) = [step for step in steps if step["effect"] is not None]
    assert (wrote["evaluation"], wrote["effect"], wrote["github_id"]) == (9, "comment:group:3", 501)
    assert "501" in r4p(subject).stdout


def test_a_write_is_found_after_its_job_was_deleted(database, r4p):
    publish(database, deliver(database, "first"))
    execute(database, "delete from jobs")
    (step,) = json.loads(r4p("first", "--json").stdout)
    assert (step["kind"], step["github_id"]) == (None, 501)


def test_what_is_unknown_or_ambiguous_is_an_error(database, r4p):
    unknown = r4p("no-such-guid")
    assert (unknown.exit_code, "nothing is known" in unknown.stderr) == (1, True)
    execute(database, "insert into groups (repository_id, issue_number) values (7, 1), (8, 1)")
    ambiguous = r4p("1")
    assert (ambiguous.exit_code, "octo/area, octo/other" in ambiguous.stderr) == (2, True)
