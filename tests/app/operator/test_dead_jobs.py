"""`r4p jobs` and `r4p outcomes rederive`: an operator's way back."""

import json

import pytest
from typer.testing import CliRunner

from app.cli import main
from app.db.store.queue import jobs
from tests.builders.queue_rows import LEASE, a_pull, an_issue, put, rows

pytestmark = pytest.mark.services


@pytest.fixture
def r4p(database, database_url, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    return lambda *arguments: CliRunner().invoke(main, arguments)


def bury(database, *wanted):
    stored = put(database, *wanted)
    for one in stored:
        jobs.bury(database, jobs.claim(database, one.id, LEASE), "no use [really]")
    return [one.id for one in stored]


def test_jobs_that_gave_up_are_listed_with_why_and_since_when(database, r4p):
    assert "No job has given up." in r4p("jobs").stdout
    (dead,) = bury(database, a_pull())
    (told,) = json.loads(r4p("jobs", "--json").stdout)
    assert told.pop("since").endswith(" UTC")
    kind, key = "locate_issues", "locate_issues:7:1"
    assert told == {"id": dead, "kind": kind, "key": key, "error": "no use [really]"}
    shown = r4p("jobs").stdout
    assert ("Since" in shown, "[really]" in shown) == (True, True)


def test_a_dead_job_or_all_are_tried_again(database, r4p):
    first, *_ = bury(database, a_pull(1), a_pull(2), an_issue())
    assert r4p("jobs", "--requeue", str(first)).stdout == "1 of 1 jobs will be tried again\n"
    assert rows(database) == ["ready", "dead", "dead"]
    assert r4p("jobs", "--requeue", "all").exit_code == 0
    assert rows(database) == ["ready"] * 3


@pytest.mark.parametrize(("which", "code"), [("77", 1), ("many", 2)])
def test_a_job_that_is_not_dead_is_refused(r4p, which, code):
    refused = r4p("jobs", "--requeue", which)
    assert refused.exit_code == code
    assert which in refused.stderr


def test_outcomes_are_derived_anew(r4p):
    said = r4p("outcomes", "rederive").stdout
    assert said == "derived the outcomes of 0 pull requests again\n"
