"""The doorbell rings within a second or not at all, and a burst is rung for a few times only."""

import time

import pytest

from app.db.store.queue.job_rows import StoredJob
from app.dispatch import BackgroundDoorbell, Doorbell
from app.jobs.job import Queue
from app.metrics import Metrics
from app.values.identifiers import JobId
from tests.services import wait_for

pytestmark = pytest.mark.services


@pytest.fixture
def background(doorbell):
    metrics = Metrics()
    ringing = BackgroundDoorbell(doorbell, metrics)
    yield ringing
    ringing.stop()


def jobs(count, queue=Queue.GITHUB, *, is_due=True):
    return [StoredJob(JobId(number), queue, is_due) for number in range(count)]


def test_a_ring_lies_in_its_queue_until_it_is_heard(doorbell):
    assert doorbell.count_waiting(Queue.GITHUB) == 0
    assert doorbell.ring(Queue.GITHUB)
    assert doorbell.count_waiting(Queue.GITHUB) == 1
    assert doorbell.count_waiting(Queue.EVENTS) == 0
    assert doorbell.is_reachable()


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "redis+socket:///nonexistent/socket"])
def test_a_broker_that_is_away_is_given_up_within_a_second(url):
    bell = Doorbell(url)
    started = time.monotonic()
    assert not bell.ring(Queue.GITHUB)
    assert bell.count_waiting(Queue.GITHUB) is None
    assert not bell.is_reachable()
    assert time.monotonic() - started < 3
    bell.close()


def test_a_burst_in_two_queues_is_rung_for_a_few_times_each(background, doorbell):
    background.ring_soon([*jobs(50), *jobs(50, Queue.VERIFY)])
    background.start()
    wait_for(lambda: doorbell.count_waiting(Queue.VERIFY) and doorbell.count_waiting(Queue.GITHUB))
    background.stop()
    assert doorbell.count_waiting(Queue.VERIFY) == doorbell.count_waiting(Queue.GITHUB) == 4


def test_a_job_that_is_not_due_rings_no_bell(background, doorbell):
    background.ring_soon([*jobs(3, is_due=False), *jobs(1, Queue.VERIFY)])
    background.start()
    wait_for(lambda: doorbell.count_waiting(Queue.VERIFY) == 1)
    assert doorbell.count_waiting(Queue.GITHUB) == 0


def test_failures_are_counted_and_ignored():
    bell, metrics = Doorbell("redis+socket:///nonexistent/socket"), Metrics()
    ringing = BackgroundDoorbell(bell, metrics)
    ringing.start()
    ringing.ring_soon(jobs(2))
    wait_for(lambda: metrics.get_value("r4p_doorbell_failures_total"))
    assert metrics.get_value("r4p_doorbell_failures_total") == 1
    ringing.stop()
    bell.close()
