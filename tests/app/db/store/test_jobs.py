"""The life of a job: stored, claimed under a token, beaten for, finished, failed, taken back."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.db.store import jobs, upkeep
from app.jobs import Planned, Queue
from app.waits import Waits, WaitsFor
from tests.app.db.store.stored import (
    LEASE,
    a_pull,
    an_issue,
    execute,
    let_leases_end,
    put,
    rows,
)

pytestmark = pytest.mark.services


def test_a_job_comes_back_from_the_database_as_it_was_stored(database):
    (stored,) = put(database, an_issue(3), delivery="guid-1")
    claimed = jobs.claim(database, stored.id, LEASE)
    assert claimed.job == an_issue(3)
    assert (claimed.attempt, claimed.token, claimed.delivery) == (1, 1, "guid-1")
    assert stored == jobs.StoredJob(claimed.id, Queue.GITHUB, is_due=True)


def test_a_claimed_job_can_not_be_claimed_again(database):
    (stored,) = put(database, a_pull())
    assert jobs.claim(database, stored.id, LEASE)
    assert jobs.claim(database, stored.id, LEASE) is None
    assert jobs.claim_next(database, Queue.GITHUB, LEASE) is None


def test_a_finished_job_stays_finished(database):
    (stored,) = put(database, a_pull())
    claimed = jobs.claim(database, stored.id, LEASE)
    assert jobs.finish(database, claimed)
    assert not jobs.finish(database, claimed)
    assert jobs.claim(database, stored.id, LEASE) is None
    assert rows(database) == ["done"]


def test_jobs_are_claimed_longest_due_first_and_only_from_the_queue_asked_for(database):
    put(database, a_pull(1))
    put(database, a_pull(2))
    assert jobs.claim_next(database, Queue.VERIFY, LEASE) is None
    assert jobs.claim_next(database, Queue.GITHUB, LEASE).job == a_pull(1)
    assert jobs.claim_next(database, Queue.GITHUB, LEASE).job == a_pull(2)


def test_a_delayed_job_waits(database):
    (stored,) = put(database, an_issue(), delay=30)
    assert not stored.is_due
    assert jobs.claim(database, stored.id, LEASE) is None
    execute(database, "update jobs set run_after = now()")
    assert jobs.claim(database, stored.id, LEASE)


def test_a_burst_of_fifty_events_on_one_issue_is_one_job(database):
    for number in range(50):
        put(database, an_issue(trigger=f"event {number}"), delay=10)
    ((trigger, state),) = rows(database, "payload->>'trigger', state")
    assert (trigger, state) == ("event 49", "ready")


def test_fifty_events_at_once_from_eight_threads_are_one_job(database):
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: put(database, an_issue(), delay=10), range(50)))
    assert rows(database) == ["ready"]


def test_each_event_pushes_the_job_back_but_not_for_ever(database):
    put(database, an_issue(), delay=10)
    waits = "round(extract(epoch from run_after - created_at))"
    execute(database, "update jobs set created_at = created_at - interval '20 s'")
    put(database, an_issue(), delay=10)
    assert rows(database, waits) == [30]
    execute(database, "update jobs set created_at = created_at - interval '35 s'")
    put(database, an_issue(), delay=10)
    assert rows(database, waits) == [65]  # it was at 65 by then; past 60 nothing pushes it further
    put(database, an_issue(), delay=10)
    assert rows(database, waits) == [65]


def test_what_is_wanted_at_once_does_not_wait_for_a_burst_to_end(database):
    put(database, an_issue(trigger="pull_request"), delay=10)
    (stored,) = put(database, an_issue(trigger="reconcile"))
    assert stored.is_due
    put(database, an_issue(trigger="pull_request"), delay=10)
    assert rows(database, "payload->>'trigger', run_after <= now()") == [("reconcile", True)]


@pytest.mark.parametrize("delay", [0, 10])
def test_what_somebody_asked_for_outlives_a_later_event(database, delay):
    put(database, an_issue(trigger="command"))
    put(database, an_issue(trigger="reconcile"), delay=delay)
    assert rows(database, "payload->>'trigger', run_after <= now()")[0] == ("command", True)


@pytest.mark.parametrize("end", [jobs.retry, jobs.postpone])
def test_a_command_that_has_to_wait_does_not_give_way_to_an_event(database, end):
    (asked,) = put(database, an_issue(trigger="command"))
    claimed = jobs.claim(database, asked.id, LEASE)
    put(database, an_issue(trigger="moved_head"), delay=300)
    assert end(database, claimed, "GitHub is down", after_seconds=0)
    assert jobs.claim(database, asked.id, LEASE).job == an_issue(trigger="command")


def test_a_command_whose_worker_died_does_not_give_way_to_an_event(database):
    (asked,) = put(database, an_issue(trigger="command"))
    jobs.claim(database, asked.id, LEASE)
    put(database, an_issue(trigger="moved_head"), delay=300)
    let_leases_end(database)
    with database.begin() as connection:
        upkeep.release_expired(connection, max_attempts=3)
    assert jobs.claim(database, asked.id, LEASE).job == an_issue(trigger="command")


def test_two_who_ask_at_the_same_moment_are_both_answered_one_after_the_other(database):
    put(database, an_issue(trigger="command", asked_in=900))
    put(database, an_issue(trigger="command", asked_in=901), an_issue(trigger="reconcile"))
    seen = []
    while claimed := jobs.claim_next(database, Queue.GITHUB, LEASE):
        assert jobs.claim_next(database, Queue.GITHUB, LEASE) is None, "two at once"
        seen.append((claimed.job.trigger, claimed.job.asked_in))
        jobs.finish(database, claimed)
    assert seen == [("command", 900), ("command", 901), ("reconcile", None)]


def test_waits_for_somebody_are_counted_from_the_first_and_end_with_another_ending(database):
    (stored,) = put(database, a_pull())
    claimed = jobs.claim(database, stored.id, LEASE)
    assert claimed.waited is None
    waits = []
    for who in (WaitsFor.GIT, WaitsFor.GIT, None, WaitsFor.GITHUB):
        jobs.postpone(database, claimed, "not ready", 0, who)
        claimed = jobs.claim(database, stored.id, LEASE)
        waits.append((claimed.waited.who, claimed.waited.times))
    assert waits == [("git", 1), ("git", 2), ("git", 2), ("github", 1)]
    first = claimed.waited.since
    jobs.postpone(database, claimed, "not ready", 0, WaitsFor.GITHUB)
    claimed = jobs.claim(database, stored.id, LEASE)
    assert claimed.waited == Waits(WaitsFor.GITHUB, 2, first)
    jobs.retry(database, claimed, "a mistake of ours", 0)
    assert jobs.claim(database, stored.id, LEASE).waited is None


def test_one_call_with_the_same_work_twice_stores_it_once(database):
    put(database, an_issue(trigger="first"), an_issue(trigger="second"), a_pull())
    assert rows(database, "payload->>'trigger'") == ["second", None]


def test_nothing_is_stored_when_the_callers_transaction_is_rolled_back(database):
    with database.connect() as connection:
        jobs.enqueue(connection, [Planned(a_pull())])
        connection.rollback()
    assert rows(database) == []


def test_one_key_is_never_worked_on_twice_at_once(database):
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
    let_leases_end(database)
    with database.begin() as connection:
        assert upkeep.release_expired(connection, max_attempts=3) == ()
    assert not jobs.heartbeat(database, zombie, LEASE)
    holder = jobs.claim(database, stored.id, LEASE)
    assert jobs.heartbeat(database, holder, LEASE)
    assert not jobs.heartbeat(database, zombie, LEASE)
    assert holder.attempt == 2


def test_a_zombie_can_neither_write_nor_finish_nor_fail(database):
    (stored,) = put(database, a_pull())
    zombie = jobs.claim(database, stored.id, LEASE)
    let_leases_end(database)
    with database.begin() as connection:
        upkeep.release_expired(connection, max_attempts=3)
    holder = jobs.claim(database, stored.id, LEASE)
    with pytest.raises(jobs.Fenced), database.begin() as connection:
        jobs.fence(connection, zombie)
    assert not jobs.finish(database, zombie)
    assert not jobs.retry(database, zombie, "late", 0)
    assert not jobs.bury(database, zombie, "late")
    with database.begin() as connection:
        jobs.fence(connection, holder)
    assert rows(database, "state, token") == [("running", holder.token)]


def test_nobody_takes_a_job_back_while_its_holder_writes(database):
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
        let_leases_end(database)
        with database.begin() as connection:
            dead = upkeep.release_expired(connection, max_attempts=3)
    assert dead == (stored.id,)
    assert rows(database, "state, attempt") == [("dead", 3)]
    assert jobs.claim(database, stored.id, LEASE) is None
    with database.connect() as connection:
        (found,) = upkeep.dead(connection)
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


def test_a_failed_attempt_leaves_the_work_to_a_newer_job_of_its_key(database):
    (older,) = put(database, an_issue())
    claimed = jobs.claim(database, older.id, LEASE)
    put(database, an_issue())
    assert jobs.retry(database, claimed, "boom", after_seconds=0)
    assert rows(database) == ["superseded", "ready"]


def test_an_abandoned_attempt_leaves_the_work_to_a_newer_job_of_its_key(database):
    (older,) = put(database, an_issue())
    jobs.claim(database, older.id, LEASE)
    put(database, an_issue())
    let_leases_end(database)
    with database.begin() as connection:
        upkeep.release_expired(connection, max_attempts=3)
    assert rows(database) == ["superseded", "ready"]


def test_superseding_takes_back_what_waits_and_what_runs(database):
    (running,) = put(database, an_issue(1))
    claimed = jobs.claim(database, running.id, LEASE)
    put(database, an_issue(1), an_issue(2), a_pull(9))
    with database.begin() as connection:
        assert jobs.supersede(connection, [an_issue(1).key, an_issue(2).key]) == 3
    assert not jobs.heartbeat(database, claimed, LEASE)
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
