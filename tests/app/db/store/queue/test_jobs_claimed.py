"""Who holds a job, who may write for it, and what becomes of it when its holder fails or dies."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.db.store.queue import jobs, upkeep
from app.jobs.job import Queue
from tests.builders.queue_rows import (
    LEASE,
    a_pull,
    an_issue,
    execute,
    expire_leases,
    let_leases_end,
    put,
    rows,
)

pytestmark = pytest.mark.services


def test_two_jobs_of_a_key_never_run_at_once(database):
    (first,) = put(database, an_issue())
    claimed = jobs.claim(database, first.id, LEASE)
    (second,) = put(database, an_issue())
    assert jobs.claim(database, second.id, LEASE) is None
    assert jobs.claim_next(database, Queue.GITHUB, LEASE) is None
    jobs.finish(database, claimed)
    assert jobs.claim(database, second.id, LEASE)


def test_a_heartbeat_renews_the_lease_of_the_holder_only(database):
    (stored,) = put(database, a_pull())
    zombie = jobs.claim(database, stored.id, LEASE)
    assert expire_leases(database) == ()
    assert not jobs.renew_lease(database, zombie, LEASE)
    holder = jobs.claim(database, stored.id, LEASE)
    assert jobs.renew_lease(database, holder, LEASE)
    assert not jobs.renew_lease(database, zombie, LEASE)
    assert holder.attempt == 2


def test_a_zombie_can_neither_write_nor_finish_nor_fail(database):
    (stored,) = put(database, a_pull())
    zombie = jobs.claim(database, stored.id, LEASE)
    expire_leases(database)
    holder = jobs.claim(database, stored.id, LEASE)
    with pytest.raises(jobs.Fenced), database.begin() as connection:
        jobs.fence(connection, zombie)
    assert not jobs.finish(database, zombie)
    assert not jobs.retry(database, zombie, "late", 0)
    assert not jobs.bury(database, zombie, "late")
    with database.begin() as connection:
        jobs.fence(connection, holder)
    assert rows(database, "state, token") == [("running", holder.token)]


def test_a_job_is_not_taken_back_while_its_holder_writes(database):
    (stored,) = put(database, a_pull())
    holder = jobs.claim(database, stored.id, LEASE)
    let_leases_end(database)
    with database.begin() as writing:
        jobs.fence(writing, holder)
        with database.begin() as connection:
            upkeep.release_expired(connection, max_attempts=3)
    assert rows(database) == ["running"]


def test_two_hundred_paused_and_revived_holders_write_nothing(database):
    """A pause is a lease that ends between claim and write, with another holder after it or not."""
    written = []
    for round_ in range(200):
        (stored,) = put(database, a_pull(round_))
        zombie = jobs.claim(database, stored.id, lease_seconds=-1)
        with database.begin() as connection:
            upkeep.release_expired(connection, max_attempts=3)
        if round_ % 2:
            jobs.claim(database, stored.id, LEASE)
        try:
            with database.begin() as connection:
                jobs.fence(connection, zombie)
                written.append(round_)
        except jobs.Fenced:
            continue
    assert written == []


def test_a_job_whose_workers_all_die_is_dead_after_its_last_attempt(database):
    (stored,) = put(database, a_pull())
    for _ in range(3):
        assert jobs.claim(database, stored.id, LEASE)
        dead = expire_leases(database)
    assert dead == (stored.id,)
    assert rows(database, "state, attempt") == [("dead", 3)]
    assert jobs.claim(database, stored.id, LEASE) is None
    with database.connect() as connection:
        (found,) = upkeep.list_dead(connection)
    assert "attempt 3" in found.error


def test_a_failed_attempt_is_tried_again_after_a_pause(database):
    (stored,) = put(database, a_pull())
    claimed = jobs.claim(database, stored.id, LEASE)
    assert jobs.retry(database, claimed, "the \0 reason \ud800", after_seconds=5)
    assert rows(database, "state, error, round(extract(epoch from run_after - now()))") == [
        ("ready", "the  reason ?", 5)
    ]
    assert jobs.claim(database, stored.id, LEASE) is None


def test_a_postponed_attempt_is_not_counted(database):
    (stored,) = put(database, a_pull())
    jobs.postpone(database, jobs.claim(database, stored.id, LEASE), "GitHub asks us to wait", 0)
    assert jobs.claim(database, stored.id, LEASE).attempt == 1


@pytest.mark.parametrize("end", ["failed", "abandoned"])
def test_an_ended_attempt_leaves_the_work_to_a_newer_job_of_its_key(database, end):
    (older,) = put(database, an_issue())
    claimed = jobs.claim(database, older.id, LEASE)
    put(database, an_issue())
    if end == "failed":
        assert jobs.retry(database, claimed, "boom", after_seconds=0)
    else:
        expire_leases(database)
    assert rows(database) == ["superseded", "ready"]


def test_superseding_takes_back_what_waits_and_what_runs(database):
    (running,) = put(database, an_issue(1))
    claimed = jobs.claim(database, running.id, LEASE)
    put(database, an_issue(1), an_issue(2), a_pull(9))
    with database.begin() as connection:
        assert jobs.supersede(connection, [an_issue(1).key, an_issue(2).key]) == 3
    assert not jobs.renew_lease(database, claimed, LEASE)
    assert rows(database) == ["superseded", "superseded", "superseded", "ready"]


def test_a_job_of_another_release_waits_for_a_worker_that_knows_it(database):
    (stored,) = put(database, a_pull())
    execute(database, "update jobs set kind = 'from_the_future'")
    assert jobs.claim(database, stored.id, LEASE) is None
    assert rows(database, "state, attempt, left(error, 30)") == [
        ("ready", 0, "unknown job kind 'from_the_fut")
    ]


def test_eight_claimers_at_once_never_claim_a_job_twice(database):
    put(database, *(a_pull(number) for number in range(200)))
    claimed, barrier = [], threading.Barrier(8)

    def work():
        barrier.wait()
        while found := jobs.claim_next(database, Queue.GITHUB, LEASE):
            claimed.append(found.id)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(claimed) == 200
    assert set(rows(database, "attempt")) == {1}


def test_claimers_racing_for_two_jobs_of_one_key_get_one_of_them(database):
    for round_ in range(30):
        execute(database, "delete from jobs")
        (older,) = put(database, an_issue(round_))
        claimed = jobs.claim(database, older.id, LEASE)
        (newer,) = put(database, an_issue(round_))
        with ThreadPoolExecutor(4) as threads:
            again = threads.submit(jobs.finish, database, claimed)
            got = list(threads.map(lambda id_: jobs.claim(database, id_, LEASE), [newer.id] * 3))
        assert again.result()
        assert sum(1 for one in got if one) <= 1
