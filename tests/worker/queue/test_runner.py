"""One attempt at one job: claimed, beaten for, run, and ended as its handler ended it."""

import logging
import threading

import pytest

from app.db.store.queue import installation_controls, jobs
from app.github.errors import GitHubDown, Unauthorized
from app.jobs.job import Planned, Queue
from app.settings import QueueSettings
from model.errors import Cancelled
from tests.builders.queue_rows import a_pull, an_issue, execute, let_leases_end, put, rows
from tests.services import wait_for
from worker.queue.errors import GiveUp, Postponed
from worker.queue.runner import Runner

pytestmark = pytest.mark.services

PACE = QueueSettings(lease_seconds=5, heartbeat_seconds=0.02, retry_seconds=5, max_attempts=3)


@pytest.fixture
def run(database, doorbell):
    """Answer a ring for the first job with one handler for all kinds."""

    def answer(handler, *, stopping=lambda: False):
        handlers = dict.fromkeys(["evaluate_issue", "locate_issues"], handler)
        runner = Runner(database, handlers, doorbell, PACE, stopping)
        return runner.answer(Queue.GITHUB)

    return answer


def raising(error):
    def handle(_context, _job):
        raise error

    return handle


def test_a_handler_that_returns_has_done_its_job(database, run):
    put(database, an_issue(4))
    seen = []
    assert run(lambda _context, job: seen.append(job)) == 1
    assert (seen, rows(database)) == ([an_issue(4)], ["done"])


@pytest.mark.parametrize("target", [an_issue().installation, installation_controls.ALL])
@pytest.mark.parametrize("is_verifier", [True, False], ids=["votes", "agent's steps"])
def test_a_pause_ends_costly_work_and_counts_no_attempt(database, run, target, is_verifier):
    put(database, an_issue())

    def work_on(context, _job):
        with database.begin() as connection:
            installation_controls.pause(connection, target)
        wait_for(lambda: not context.keep_going())
        if is_verifier:
            raise Cancelled("newer work replaced this verdict")  # the only word that verifiers have
        context.check()

    run(work_on)
    ((state, counted, why),) = rows(database, "state, attempt, error")
    assert (state, counted) == ("ready", 0)
    assert why.startswith("InstallationPaused: the operator paused")


def test_a_single_ring_runs_all_due_jobs(database, run):
    put(database, *(a_pull(number) for number in range(5)))
    put(database, an_issue(), delay=60)
    assert run(lambda _context, _job: None) == 5
    assert rows(database) == ["done"] * 5 + ["ready"]


def test_a_ring_for_a_job_that_is_gone_serves_the_others(database, run):
    put(database, a_pull(1))
    execute(database, "update jobs set state = 'done'")
    put(database, a_pull(2))
    assert run(lambda _context, _job: None) == 1


@pytest.mark.parametrize(
    ("error", "state", "attempt"),
    [
        (ValueError("a mistake"), "ready", 1),
        (Postponed("busy", after_seconds=60), "ready", 0),
        (GiveUp("no use"), "dead", 1),
        (Cancelled("newer"), "superseded", 1),
    ],
    ids=["failed", "postponed", "given up", "superseded"],
)
def test_the_error_of_a_handler_decides_the_state_of_the_job(database, run, error, state, attempt):
    put(database, a_pull())
    run(raising(error))
    ((now, counted, why),) = rows(database, "state, attempt, error")
    assert (now, counted) == (state, attempt)
    assert str(error) in why


def test_a_job_waits_for_github_ever_longer_and_without_end(database, run):
    put(database, a_pull())
    pauses = []
    for _ in range(9):
        run(raising(GitHubDown("502")))
        pauses += rows(database, "extract(epoch from run_after - now())::float")
        execute(database, "update jobs set run_after = now()")
    assert rows(database, "state, attempt, waits_for, waits") == [("ready", 0, "github", 9)]
    doubled = [min(30 * 2**n, 3_600) for n in range(9)]
    assert all(0.7 * full < pause <= full for pause, full in zip(pauses, doubled, strict=True))


def test_a_job_of_an_app_that_github_no_longer_knows_is_dead_after_a_day(database, run, caplog):
    put(database, a_pull())
    error = Unauthorized("401: check R4P_APP_ID, the private key and this machine's clock")
    for hours in (0, 23, 25):
        ago = f"now() - interval '{hours} h'"
        execute(database, f"update jobs set run_after = now(), waits_since = {ago} where waits > 0")
        run(raising(error))
    ((state, why),) = rows(database, "state, error")
    assert state == "dead"
    assert "check R4P_APP_ID" in why
    assert "refused 2 times since " in why
    assert "refused 2 times" in caplog.text


def test_a_job_that_keeps_failing_is_dead_after_three_attempts(database, run, caplog):
    put(database, a_pull())
    for _ in range(5):
        execute(database, "update jobs set run_after = now() where state = 'ready'")
        run(raising(ValueError("boom")))
    assert rows(database, "state, attempt, error") == [("dead", 3, "ValueError: boom")]
    levels = [record.levelno for record in caplog.records if "boom" in record.message]
    assert levels == [logging.WARNING, logging.WARNING, logging.ERROR]


def test_a_kind_without_a_handler_is_given_up_with_a_hint(database, doorbell):
    put(database, a_pull())
    Runner(database, {}, doorbell, PACE).answer(Queue.GITHUB)
    ((state, why),) = rows(database, "state, error")
    assert state == "dead"
    assert "locate_issues" in why


def test_follow_up_jobs_carry_the_delivery_and_their_bell_is_rung(database, run, broker):
    put(database, an_issue(), delivery="guid-1")

    def handle(context, _job):
        with context.transaction() as connection:
            later = Planned(an_issue(8), delay_seconds=60)
            context.enqueue(connection, [Planned(a_pull(9)), later])

    def only_evaluations(context, job):
        if job.kind == "evaluate_issue":
            handle(context, job)

    run(only_evaluations)
    assert rows(database, "kind, delivery_guid, state") == [
        ("evaluate_issue", "guid-1", "done"),
        ("locate_issues", "guid-1", "done"),
        ("evaluate_issue", "guid-1", "ready"),
    ]
    assert broker.llen("github") == 1


def test_a_long_job_keeps_its_lease(database, run):
    put(database, a_pull())
    leases = []

    def handle(context, _job):
        leases.append(rows(database, "lease_until")[0])
        wait_for(lambda: rows(database, "lease_until")[0] > leases[0])
        assert context.keep_going()

    run(handle)
    assert rows(database) == ["done"]


def test_a_handler_learns_that_its_job_was_taken_away_and_can_no_longer_write(database, run):
    put(database, an_issue())

    def handle(context, job):
        with database.begin() as connection:
            jobs.supersede(connection, [job.key])
        wait_for(lambda: not context.keep_going())
        with pytest.raises(Cancelled):
            context.check()
        with context.transaction() as connection:
            context.enqueue(connection, [Planned(a_pull())])

    run(handle)
    assert rows(database, "kind, state") == [("evaluate_issue", "superseded")]


@pytest.mark.parametrize("aborts_by", ["check", "Superseded"])
def test_a_worker_that_shuts_down_gives_its_job_back_uncounted(database, run, aborts_by):
    put(database, a_pull(1), a_pull(2))
    stopping = threading.Event()

    def handle(context, _job):
        stopping.set()
        if aborts_by == "check":
            context.check()
        raise Cancelled("asked to stop")

    assert run(handle, stopping=stopping.is_set) == 1
    assert rows(database, "state, attempt") == [("ready", 0), ("ready", 0)]


def test_an_attempt_that_outlived_its_lease_leaves_the_job_to_its_new_holder(database, run):
    put(database, a_pull())

    def handle(_context, _job):
        let_leases_end(database)
        execute(database, "update jobs set token = token + 1")  # somebody else claimed it

    run(handle)
    assert rows(database) == ["running"]
