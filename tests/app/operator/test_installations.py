"""`r4p installations`: the operator pauses, resumes and limits installations."""

import json

import pytest
from sqlalchemy import insert
from typer.testing import CliRunner

from app.cli import main
from app.db.store.queue import installation_controls, jobs
from app.db.tables.schema import installations
from app.jobs.job import Queue
from app.web.stored_metrics import StoredMetrics
from tests.builders.queue_rows import LEASE, a_pull, put

pytestmark = pytest.mark.services


@pytest.fixture
def r4p(database, database_url, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    with database.begin() as connection:
        connection.execute(insert(installations).values(id=5, account="mona[x]"))
    return lambda *arguments: CliRunner().invoke(main, ["installations", *arguments])


def read_list(r4p):
    return json.loads(r4p("list", "--json").stdout)


@pytest.mark.parametrize("target", ["5", "--all"])
def test_a_pause_stops_claims_until_it_is_resumed(database, r4p, target):
    put(database, a_pull())
    assert r4p("pause", target).exit_code == 0
    assert jobs.claim_next(database, Queue.GITHUB, LEASE) is None
    assert r4p("resume", target).exit_code == 0
    assert jobs.claim_next(database, Queue.GITHUB, LEASE).job == a_pull()


def test_pauses_are_listed_and_measured(database, r4p):
    r4p("pause", "5")
    r4p("pause", "--all")
    listed = read_list(r4p)
    (only,) = listed["installations"]
    assert (only["id"], only["account"]) == (5, "mona[x]")
    assert None not in (only["paused_at"], listed["all_paused_at"])
    with database.connect() as connection:
        assert [*installation_controls.list_paused(connection)] == [0, 5]
    metrics = {metric.name: metric for metric in StoredMetrics(database).collect()}
    paused = [sample.labels["installation"] for sample in metrics["r4p_paused"].samples]
    assert paused == ["0", "5"]
    shown = r4p("list").stdout
    assert "all installations are paused since" in shown
    assert "mona[x]" in shown
    r4p("resume", "--all")
    assert read_list(r4p)["installations"] == [only]


def test_limits_replace_those_before(database, r4p):
    r4p("limit", "5", "max_votes=8", "max_running=1")
    r4p("limit", "5", "max_votes=4")
    assert read_list(r4p)["installations"][0]["limits"] == {"max_votes": 4}
    with database.connect() as connection:
        assert installation_controls.read_limits(connection, 5) == {"max_votes": 4}
    assert r4p("limit", "5").stdout == "installation 5: limits: none of its own\n"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["pause"], "--all"),
        (["pause", "5", "--all"], "--all"),
        (["pause", "77"], "77 is not an installation"),
        (["limit", "77", "max_votes=1"], "77 is not an installation"),
        (["limit", "5", "votes=1"], "max_votes"),
        (["limit", "5", "max_votes=none"], "max_votes=10"),
        (["limit", "5", "max_votes=0"], "max_votes=10"),
    ],
)
def test_a_mistake_is_named_and_changes_nothing(r4p, arguments, hint):
    refused = r4p(*arguments)
    assert refused.exit_code == 2
    assert hint in refused.stderr
    assert read_list(r4p) == {
        "all_paused_at": None,
        "installations": [{"id": 5, "account": "mona[x]", "paused_at": None, "limits": {}}],
    }
