"""The queue as a whole: what is due, what gave up, what is counted, what is forgotten."""

from datetime import UTC, datetime, timedelta

import pytest

from app.db.store.queue import jobs, progress, upkeep
from app.jobs.job import PurgeData, Queue, Reconcile
from app.jobs.waits import WaitsFor
from app.values.identifiers import InstallationId, RepositoryId
from tests.builders.queue_rows import LEASE, a_pull, an_issue, execute, put, rows

pytestmark = pytest.mark.services


def test_only_what_could_be_claimed_now_is_due(database):
    due, running = put(database, a_pull(1), a_pull(2))
    jobs.claim(database, running.id, LEASE)
    put(database, an_issue(), delay=60)
    with database.begin() as connection:
        assert upkeep.list_due(connection, Queue.GITHUB, 10) == (due,)
        assert upkeep.list_due(connection, Queue.VERIFY, 10) == ()


def test_due_jobs_are_limited_and_those_being_looked_at_are_left_out(database):
    put(database, *(a_pull(number) for number in range(5)))
    with database.begin() as one, database.begin() as other:
        assert len(upkeep.list_due(one, Queue.GITHUB, 3)) == 3
        assert len(upkeep.list_due(other, Queue.GITHUB, 3)) == 2


def test_a_dead_job_gets_all_its_attempts_again(database):
    (stored,) = put(database, a_pull())
    jobs.bury(database, jobs.claim(database, stored.id, LEASE), "no use")
    with database.begin() as connection:
        assert upkeep.requeue(connection, stored.id)
        assert not upkeep.requeue(connection, stored.id)
    assert jobs.claim(database, stored.id, LEASE).attempt == 1


def test_a_dead_job_whose_work_waits_already_stays_dead(database):
    (stored,) = put(database, an_issue())
    jobs.bury(database, jobs.claim(database, stored.id, LEASE), "no use")
    put(database, an_issue())
    with database.begin() as connection:
        assert not upkeep.requeue(connection, stored.id)
    assert rows(database) == ["dead", "ready"]


def test_jobs_are_counted_by_queue_and_state_with_the_longest_wait(database):
    (done,) = put(database, a_pull(3))
    jobs.finish(database, jobs.claim(database, done.id, LEASE))
    put(database, a_pull(1), a_pull(2))
    jobs.claim_next(database, Queue.GITHUB, LEASE)
    execute(database, "update jobs set run_after = now() - interval '30 s'")
    with database.connect() as connection:
        ready, running = upkeep.count_jobs(connection)
    assert (ready.queue, ready.state, ready.jobs) == ("github", "ready", 1)
    assert ready.seconds == pytest.approx(30, abs=5)
    assert (running.state, running.jobs) == ("running", 1)
    assert running.seconds == pytest.approx(0, abs=5)


def test_jobs_of_a_removed_repository_are_superseded_except_its_purge(database):
    purge = PurgeData(InstallationId(5), RepositoryId(7))
    put(database, an_issue(), purge)
    with database.begin() as connection:
        assert upkeep.supersede_jobs_of(connection, InstallationId(5), RepositoryId(8)) == 0
        assert upkeep.supersede_jobs_of(connection, InstallationId(5), RepositoryId(7)) == 1
    assert rows(database, "kind, state") == [
        ("evaluate_issue", "superseded"),
        ("purge_data", "ready"),
    ]


def test_etags_nobody_used_for_long_are_dropped(database):
    execute(
        database,
        "insert into etags (installation_id, path, etag, body, updated_at)"
        " values (1, 'old', 'x', '', now() - interval '40 days'), (1, 'new', 'x', '', now())",
    )
    with database.begin() as connection:
        assert upkeep.prune_etags(connection, days=30) == 1


def test_jobs_that_ended_long_ago_are_dropped_but_not_those_that_gave_up(database):
    put(database, *(a_pull(number) for number in range(5)))
    ends = ["done", "superseded", "dead", "done", "ready"]
    for number, state in enumerate(ends):
        execute(
            database,
            f"update jobs set state = '{state}', created_at = now() - interval '40 days',"
            f" finished_at = now() - interval '{3 if number == 3 else 40} days'"
            f" where payload->>'pull' = '{number}'",
        )
    with database.begin() as connection:
        assert upkeep.prune_jobs(connection, days=30) == 2
    assert sorted(rows(database)) == ["dead", "done", "ready"]


@pytest.mark.parametrize(
    ("query", "way"),
    [
        (upkeep.PRUNE, "ix_jobs_ended"),
        (upkeep.LAST_DONE, "ix_jobs_ended"),
        (upkeep.COUNTS, "BitmapOr"),
    ],
    ids=["dropping old ones", "the last one done", "counting"],
)
def test_frequent_queries_use_an_index(database, query, way):
    with database.begin() as connection:
        connection.exec_driver_sql("set local enable_seqscan = off")
        asked = connection.exec_driver_sql(
            f"explain {query}", {"days": 30, "limit": 9, "kind": "redeliver"}
        )
        plan = "\n".join(asked.scalars())
    assert way in plan
    assert "Seq Scan" not in plan


def test_the_last_one_done_of_a_kind_is_told_by_when_it_was_begun(database):
    for number, begun in enumerate([90, 60, 30]):
        (stored,) = put(database, a_pull(number))
        claimed = jobs.claim(database, stored.id, LEASE)
        execute(
            database,
            f"update jobs set claimed_at = now() - interval '{begun} s' where id = {stored.id}",
        )
        end = jobs.finish if number < 2 else lambda *job: jobs.step_aside(*job, "newer work")
        assert end(database, claimed)
    with database.begin() as connection:
        begun = upkeep.find_last_done(connection, a_pull().kind)
        assert upkeep.find_last_done(connection, "redeliver") is None
    assert datetime.now(UTC) - begun == pytest.approx(
        timedelta(seconds=60), abs=timedelta(seconds=10)
    )


def test_a_dead_job_of_the_clocks_goes_once_a_later_one_is_done(database):
    kept = [Reconcile(InstallationId(5), RepositoryId(8)), a_pull()]
    for stored in put(database, Reconcile(InstallationId(5), RepositoryId(7)), *kept):
        jobs.bury(database, jobs.claim(database, stored.id, LEASE), "no use")
    for stored in put(database, Reconcile(InstallationId(5), RepositoryId(7)), a_pull()):
        with database.begin() as connection:
            assert upkeep.prune_dead(connection) == 0
        jobs.finish(database, jobs.claim(database, stored.id, LEASE))
        break
    with database.begin() as connection:
        assert upkeep.prune_dead(connection) == 1
    assert rows(database, "kind, state") == [
        ("reconcile", "dead"),
        ("locate_issues", "dead"),
        ("reconcile", "done"),
        ("locate_issues", "ready"),
    ]


def test_postponed_jobs_are_counted_by_reason_and_read_by_key(database):
    for number, who in enumerate([WaitsFor.GIT, WaitsFor.GIT, WaitsFor.KEY, None]):
        (stored,) = put(database, an_issue(number))
        jobs.postpone(database, jobs.claim(database, stored.id, LEASE), "not ready", 60, who)
    execute(database, "update jobs set waits_since = now() - interval '90 s' where id = 2")
    with database.begin() as connection:
        counted = [
            (one.who, one.jobs, round(one.seconds)) for one in upkeep.count_waiting(connection)
        ]
        told = progress.read_waits(connection, [an_issue(number).key for number in (0, 1, 3)])
        assert progress.read_waits(connection, [an_issue(3).key, a_pull().key]) is None
    assert counted == [("git", 2, 90), ("key", 1, 0)]
    assert (told.who, told.times) == (WaitsFor.GIT, 1)
    assert datetime.now(UTC) - told.since > timedelta(seconds=89)
