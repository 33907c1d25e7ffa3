"""The clock's work: rings for what is due, takes back what was abandoned, tidies up."""

import logging

import pytest

from app.db.store.queue import jobs
from app.dispatch import Doorbell
from app.jobs.job import Planned, Queue
from app.settings import BrokerSettings, QueueSettings
from tests.builders.queue_rows import LEASE, a_pull, an_issue, execute, let_leases_end, put, rows
from worker import celery_app
from worker.queue import tasks
from worker.queue.upkeep import Upkeep

pytestmark = pytest.mark.services


@pytest.fixture
def upkeep(database, doorbell):
    return Upkeep(database, doorbell, QueueSettings(), {"again": lambda _: [Planned(a_pull(5))]})


def test_a_sweep_rings_for_what_is_due_in_every_queue(database, upkeep, broker):
    put(database, a_pull(1), a_pull(2))
    put(database, an_issue(), delay=60)
    assert upkeep.sweep() == 2
    assert broker.llen("github") == 2


def test_sweeping_on_while_nobody_hears_does_not_pile_up_rings(database, upkeep, broker):
    put(database, *(a_pull(number) for number in range(40)))
    assert [upkeep.sweep() for _ in range(4)] == [16, 0, 0, 0]
    assert broker.llen("github") == 16


def test_a_sweep_takes_abandoned_jobs_back_and_rings_for_them(database, upkeep, caplog):
    (stored,) = put(database, a_pull())
    for attempt in (1, 2, 3):
        assert jobs.claim(database, stored.id, LEASE).attempt == attempt
        let_leases_end(database)
        assert upkeep.sweep() == int(attempt < 3)
    assert rows(database) == ["dead"]
    assert [r.levelno for r in caplog.records] == [logging.ERROR]


def test_without_a_broker_a_sweep_still_takes_jobs_back(database):
    bell = Doorbell("redis+socket:///nonexistent/socket")
    put(database, a_pull())
    jobs.claim_next(database, Queue.GITHUB, LEASE)
    let_leases_end(database)
    assert Upkeep(database, bell, QueueSettings(), {}).sweep() == 0
    assert rows(database) == ["ready"]


def test_a_tick_stores_what_its_rule_asks_for_once(database, upkeep):
    upkeep.tick("again")
    upkeep.tick("again")
    assert rows(database, "kind, state") == [("locate_issues", "ready")]


def test_tidying_says_what_has_given_up(database, upkeep, caplog):
    put(database, a_pull())
    execute(database, "update jobs set state = 'dead', error = 'no use'")
    upkeep.tidy()
    assert "1 jobs have given up" in caplog.text
    assert "no use" in caplog.text


def test_tidying_says_again_what_has_given_up_only_when_that_changed(database, upkeep, caplog):
    put(database, a_pull(1))
    execute(database, "update jobs set state = 'dead', error = 'no use'")
    upkeep.tidy()
    upkeep.tidy()
    assert caplog.text.count("have given up") == 1
    put(database, a_pull(2))
    execute(database, "update jobs set state = 'dead', error = 'no use'")
    upkeep.tidy()
    assert "2 jobs have given up" in caplog.text


def test_tidying_drops_what_was_done_long_ago(database, upkeep):
    put(database, a_pull(1), a_pull(2))
    execute(database, "update jobs set state = 'done', finished_at = now() - interval '40 days'")
    execute(database, "update jobs set finished_at = now() where payload->>'pull' = '2'")
    upkeep.tidy()
    assert rows(database, "payload->>'pull'") == ["2"]


def test_the_clock_sends_only_tasks_that_exist_and_none_outlives_its_period(services):
    broker = BrokerSettings(redis_url=services.redis_url)
    celery = celery_app.create_celery(broker, QueueSettings(), lambda *_: None)
    for entry in celery.conf.beat_schedule.values():
        assert entry["task"] in celery.tasks
        assert entry["options"]["expires"] == entry["schedule"]
        assert entry["options"]["queue"] in set(Queue)
    assert {tasks.SWEEP, tasks.TIDY, tasks.TICK} <= set(celery.tasks)


def test_a_task_is_acknowledged_early_and_carries_json_only(services):
    broker = BrokerSettings(redis_url=services.redis_url)
    conf = celery_app.create_celery(broker, QueueSettings(), lambda *_: None).conf
    assert conf.task_acks_late is False
    assert conf.accept_content == ["json"]
    assert conf.worker_prefetch_multiplier == 1
    assert conf.result_backend is None
