"""Installations take turns in a queue, within their limits, unless they are paused."""

import pytest

from app.db.store.queue import jobs
from app.db.store.queue.claim_statements import FIRST_TURN, take_turn
from app.jobs.job import ForgetCheckout, LocateIssues, PurgeData, Queue, RecordEvent
from app.values.identifiers import InstallationId, PullNumber, RepositoryId
from tests.builders.queue_rows import LEASE, execute, put, rows

pytestmark = pytest.mark.services

GREEDY, SMALL, LAST = InstallationId(3), InstallationId(5), InstallationId(8)


def pulls(installation, count):
    return [
        LocateIssues(installation, RepositoryId(installation), PullNumber(number))
        for number in range(1, count + 1)
    ]


def claim_in_turn(database, count, *, after=jobs.BEFORE_ALL, max_running=None):
    """The installations of the next claims of one worker."""
    served = []
    for _ in range(count):
        claimed = jobs.claim_next(
            database, Queue.GITHUB, LEASE, after=after, max_running=max_running
        )
        if claimed is None:
            break
        after = claimed.job.tenant
        served.append(after)
    return served


def pause(database, installation):
    execute(
        database,
        f"insert into installation_controls (installation_id, paused_at) values ({installation}, now())",
    )


def test_a_thousand_jobs_of_one_installation_delay_another_by_one_claim(database):
    put(database, *pulls(GREEDY, 1_000))
    assert claim_in_turn(database, 10) == [GREEDY] * 10
    put(database, *pulls(SMALL, 3))
    assert claim_in_turn(database, 8, after=GREEDY) == [SMALL, GREEDY] * 3 + [GREEDY] * 2


def test_no_installation_waits_longer_than_one_turn_of_each_other(database):
    put(database, *pulls(GREEDY, 40), *pulls(SMALL, 40), *pulls(LAST, 20))
    served = claim_in_turn(database, 61)
    assert served[:60] == [GREEDY, SMALL, LAST] * 20
    assert len(served) == 61


def test_workers_with_turns_of_their_own_are_fair_together(database):
    put(database, *pulls(GREEDY, 300), *pulls(SMALL, 4))
    last = dict.fromkeys(range(4), GREEDY)
    served = []
    for number in range(12):
        (last[number % 4],) = claim_in_turn(database, 1, after=last[number % 4])
        served.append(last[number % 4])
    assert served == [SMALL] * 4 + [GREEDY] * 8


def test_an_installation_gets_as_many_jobs_in_a_row_as_its_weight(database):
    put(database, *pulls(GREEDY, 9), *pulls(SMALL, 9), *pulls(LAST, 2))
    weigh = """insert into installation_controls (installation_id, limits) values ({}, '{{"weight": {}}}')"""
    execute(database, weigh.format(SMALL, 3))
    served, turn = [], FIRST_TURN
    for _ in range(13):
        claimed = jobs.claim_next(database, Queue.GITHUB, LEASE, after=turn.after)
        turn = take_turn(turn, claimed.job.tenant, claimed.weight)
        served.append(claimed.job.tenant)
    once = [GREEDY, SMALL, SMALL, SMALL]
    assert served == [*once, LAST, *once, LAST, *once[:3]]


def test_an_installation_whose_jobs_are_not_due_yet_loses_its_turn(database):
    put(database, *pulls(GREEDY, 5), delay=60)
    put(database, *pulls(LAST, 2))
    assert claim_in_turn(database, 3) == [LAST, LAST]


def test_jobs_of_an_installation_are_claimed_in_the_order_in_which_they_are_due(database):
    put(database, *pulls(GREEDY, 3))
    execute(database, "update jobs set run_after = now() - payload['pull']::int * interval '1 s'")
    claimed = [jobs.claim_next(database, Queue.GITHUB, LEASE).job.pull for _ in range(3)]
    assert claimed == [3, 2, 1]


def test_an_installation_at_its_limit_is_passed_over_until_a_job_ends(database):
    put(database, *pulls(GREEDY, 10), *pulls(SMALL, 1))
    assert claim_in_turn(database, 10, max_running=2) == [GREEDY, SMALL, GREEDY]
    execute(
        database,
        "update jobs set state = 'done', lease_until = null"
        " where id = (select min(id) from jobs where state = 'running')",
    )
    assert claim_in_turn(database, 10, max_running=2) == [GREEDY]


def test_an_installation_may_have_a_limit_of_its_own(database):
    put(database, *pulls(GREEDY, 10), *pulls(SMALL, 10))
    execute(
        database,
        f"""insert into installation_controls (installation_id, limits) values ({GREEDY}, '{{"max_running": 1}}')""",
    )
    served = claim_in_turn(database, 20, max_running=3)
    assert {name: served.count(name) for name in served} == {GREEDY: 1, SMALL: 3}


def test_a_paused_installation_gets_no_turn_until_it_is_resumed(database):
    put(database, *pulls(GREEDY, 2), *pulls(SMALL, 2))
    pause(database, GREEDY)
    assert claim_in_turn(database, 9) == [SMALL, SMALL]
    execute(database, "update installation_controls set paused_at = null")
    assert claim_in_turn(database, 9) == [GREEDY, GREEDY]


def test_a_pause_of_all_stops_every_claim_but_those_that_record_events(database):
    put(database, *pulls(SMALL, 2), PurgeData(SMALL, None), RecordEvent(SMALL, "guid"))
    pause(database, 0)
    assert claim_in_turn(database, 9) == []
    assert jobs.claim_next(database, Queue.EVENTS, LEASE).job == RecordEvent(SMALL, "guid")


def test_a_paused_installation_is_forgotten_all_the_same(database):
    put(database, PurgeData(SMALL, None), ForgetCheckout(SMALL, RepositoryId(1)), *pulls(SMALL, 1))
    pause(database, SMALL)
    claim_in_turn(database, 9)
    assert rows(database) == ["running", "running", "ready"]
