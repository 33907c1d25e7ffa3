"""Open groups are read again within the hour, those first that the bot read longest ago."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from app.db.session import transaction
from app.db.store.queue import jobs
from app.jobs.job import EvaluateIssue, Planned, Reconcile
from tests.builders.job_attempts import carry_out, waiting
from worker.repositories import missed_changes
from worker.repositories.missed_changes import MissedChanges, find_reread_limit

pytestmark = pytest.mark.services


@pytest.fixture
def scene(scene):
    scene.begin("w * h")
    scene.store_evaluation()
    return scene


def look(scene, least=10.0):
    """Search the repository for missed changes, and return the jobs that are ready afterwards."""
    handler = MissedChanges(scene.github, least, scene.app.slug)
    carry_out(scene.database, handler, Reconcile(scene.installation, scene.id))
    return waiting(scene.database)


def forget_jobs(scene):
    with transaction(scene.database) as connection:
        connection.execute(text("delete from jobs"))


def list_evaluated(jobs):
    return [job.issue for job in jobs if isinstance(job, EvaluateIssue)]


def add_groups(scene, count):
    """Store `count` more open groups, of which the bot read the first ones longest ago."""
    rows = (
        "insert into groups (repository_id, issue_number, read_at)"
        " select :repository, 1000 + k, now() - interval '1 hour' - (:count - k) * interval '1 s'"
        " from generate_series(1, :count) as k"
    )
    with transaction(scene.database) as connection:
        connection.execute(text(rows), {"repository": scene.id, "count": count})


def read_groups(scene, issues):
    """What the evaluations of these issues do."""
    forget_jobs(scene)
    with transaction(scene.database) as connection:
        update = "update groups set read_at = now() where issue_number = any(:issues)"
        connection.execute(text(update), {"issues": issues})


def test_four_looks_read_every_open_group_however_many_there_are(scene, monkeypatch):
    monkeypatch.setattr(missed_changes, "OVERLAP", timedelta(days=-1))
    read_groups(scene, list_evaluated(look(scene)))
    add_groups(scene, 120)
    found = set()
    for _ in range(4):
        issues = list_evaluated(look(scene))
        assert len(issues) <= 31
        found |= set(issues)
        read_groups(scene, issues)
    assert found == set(range(1001, 1121))


def test_groups_beyond_the_installations_share_are_logged_and_read_first_next_time(
    scene, monkeypatch, caplog
):
    monkeypatch.setattr(missed_changes, "OVERLAP", timedelta(days=-1))
    read_groups(scene, list_evaluated(look(scene)))
    monkeypatch.setattr(missed_changes, "REREADS_AN_HOUR", 8)
    add_groups(scene, 11)
    for first in (1001, 1003):
        issues = list_evaluated(look(scene))
        assert issues == [first, first + 1]
        read_groups(scene, issues)
    assert "of 12 open groups, 2 are read again now" in caplog.text


def test_a_group_whose_evaluation_waits_is_not_read_again(scene, monkeypatch):
    monkeypatch.setattr(missed_changes, "OVERLAP", timedelta(days=-1))
    look(scene)
    forget_jobs(scene)
    add_groups(scene, 1)
    waits = EvaluateIssue(scene.installation, scene.id, 1001, "pull_request")
    with transaction(scene.database) as connection:
        jobs.enqueue(connection, [Planned(waits, 600.0)])
    look(scene)
    delay = "select extract(epoch from run_after - created_at) from jobs where state = 'ready'"
    with transaction(scene.database) as connection:
        assert [round(found) for found in connection.scalars(text(delay))] == [600]


@pytest.mark.parametrize(
    ("here", "everywhere", "limit"),
    [(0, 0, 0), (1, 1, 1), (120, 120, 30), (8_000, 8_000, 500), (400, 8_000, 25), (1, 9_000, 1)],
)
def test_a_quarter_of_the_groups_is_read_in_each_of_four_looks_an_hour(here, everywhere, limit):
    assert find_reread_limit(here, everywhere, 4) == limit


def test_an_open_group_is_read_again_within_the_hour(scene, monkeypatch):
    monkeypatch.setattr(missed_changes, "OVERLAP", timedelta(days=-1))
    look(scene)
    forget_jobs(scene)
    with transaction(scene.database) as connection:
        connection.execute(text("update groups set read_at = now() - interval '61 minutes'"))
    assert list_evaluated(look(scene)) == [scene.issue]
