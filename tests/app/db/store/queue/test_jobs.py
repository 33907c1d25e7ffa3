"""How work is stored, absorbed by its like, put off, and claimed."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from app.db.store.queue import jobs
from app.jobs.job import Planned, Queue
from app.jobs.waits import Waits, WaitsFor
from tests.builders.queue_rows import LEASE, a_pull, an_issue, execute, expire_leases, put, rows

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


def test_a_job_without_delay_does_not_wait_for_a_burst_to_end(database):
    put(database, an_issue(trigger="pull_request"), delay=10)
    (stored,) = put(database, an_issue(trigger="reconcile"))
    assert stored.is_due
    put(database, an_issue(trigger="pull_request"), delay=10)
    assert rows(database, "payload->>'trigger', run_after <= now()") == [("reconcile", True)]


@pytest.mark.parametrize("delay", [0, 10])
def test_a_command_outlives_a_later_event(database, delay):
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
    expire_leases(database)
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


def test_a_call_with_the_same_work_twice_stores_it_once(database):
    put(database, an_issue(trigger="first"), an_issue(trigger="second"), a_pull())
    assert rows(database, "payload->>'trigger'") == ["second", None]


def test_nothing_is_stored_when_the_callers_transaction_is_rolled_back(database):
    with database.connect() as connection:
        jobs.enqueue(connection, [Planned(a_pull())])
        connection.rollback()
    assert rows(database) == []


TOKEN = "ghs_" + "a1B2" * 9


@pytest.mark.parametrize(
    "text", [TOKEN, "x" * (jobs.ERROR_LIMIT - 20) + TOKEN], ids=["whole", "cut"]
)
@pytest.mark.parametrize(
    "end",
    [
        jobs.bury,
        jobs.step_aside,
        lambda *claim: jobs.retry(*claim, after_seconds=0),
        lambda *claim: jobs.postpone(*claim, after_seconds=0),
    ],
)
def test_a_stored_error_holds_no_token(database, text, end):
    (stored,) = put(database, a_pull())
    assert end(database, jobs.claim(database, stored.id, LEASE), text)
    (error,) = rows(database, "error")
    assert "ghs_" not in error
