"""Real Celery workers, killed, paused, poisoned and cut off from their broker."""

import signal
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from sqlalchemy import Engine, text

from app.db.session import create_database_engine
from app.dispatch import Doorbell
from tests.builders.queue_rows import an_issue, put, rows
from tests.services import Child, Services, child, wait_for
from tests.worker.queue.worker_program import MARKS

pytestmark = pytest.mark.services

PACE = {
    "R4P_LEASE_SECONDS": "0.7",
    "R4P_HEARTBEAT_SECONDS": "0.15",
    "R4P_SWEEP_SECONDS": "0.2",
    "R4P_RETRY_SECONDS": "0.1",
}


@dataclass
class Crew:
    """Workers and a clock on one database, all ended with the test."""

    services: Services
    database: Engine
    doorbell: Doorbell
    folder: Path
    stack: ExitStack

    def worker(self, name: str = "worker") -> Child:
        arguments = ["worker", "-Q", "events,github", "-c", "2", "-n", f"{name}@test"]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        started = self._start(name, *arguments, *quiet, "--loglevel", "INFO")
        wait_for(lambda: "ready." in started.says())
        return started

    def clock(self) -> Child:
        return self._start(
            "beat", "beat", "--scheduler", "celery.beat:Scheduler", "-s", "/dev/null"
        )

    def _start(self, name: str, *arguments: str) -> Child:
        url = self.database.url.set(drivername="postgresql").render_as_string(hide_password=False)
        settings = {
            "R4P_DATABASE_URL": url,
            "R4P_REDIS_URL": self.services.redis_url,
        }
        command = ["celery", "-A", "tests.worker.queue.worker_program", *arguments]
        return self.stack.enter_context(child(command, settings | PACE, self.folder / name))

    def put_and_ring(self, number: int, behaviour: str) -> None:
        for job in put(self.database, an_issue(number, behaviour)):
            assert self.doorbell.ring(job.queue)

    def marks(self) -> list[tuple[int, str]]:
        with self.database.connect() as connection:
            found = connection.execute(text("select attempt, what from marks order by job, ctid"))
            return [tuple(row) for row in found]


@pytest.fixture
def crew(services, broker, tmp_path):
    with services.database() as url, ExitStack() as stack:
        database = create_database_engine(url)
        stack.callback(database.dispose)
        with database.begin() as connection:
            connection.execute(text(MARKS))
        doorbell = Doorbell(services.redis_url)
        stack.callback(doorbell.close)
        yield Crew(services, database, doorbell, tmp_path, stack)


def test_a_ring_has_the_job_done_without_any_clock(crew):
    crew.worker()
    crew.put_and_ring(1, "quick")
    wait_for(lambda: rows(crew.database) == ["done"])
    assert crew.marks() == [(1, "started"), (1, "finished")]


def test_a_broker_that_forgets_everything_loses_no_job(crew, broker):
    for number in range(60):
        crew.put_and_ring(number, "quick")
    broker.flushall()
    crew.worker()
    crew.clock()
    for number in range(60, 120):
        crew.put_and_ring(number, "quick")
        if number % 12 == 0:
            broker.flushall()
    wait_for(lambda: rows(crew.database).count("done") == 120)
    assert sorted(crew.marks()) == sorted([(1, "started"), (1, "finished")] * 120)


def test_a_job_that_kills_its_process_is_dead_after_three_attempts_and_hurts_no_other(crew):
    crew.worker()
    crew.clock()
    crew.put_and_ring(1, "poison")
    for number in range(2, 12):
        crew.put_and_ring(number, "quick")
    wait_for(lambda: rows(crew.database) == ["dead"] + ["done"] * 10, seconds=40)
    assert crew.marks()[:3] == [(1, "started"), (2, "started"), (3, "started")]
    assert "attempt 3" in rows(crew.database, "error")[0]


def test_a_job_whose_worker_is_killed_is_resumed_by_another(crew):
    first = crew.worker("first")
    crew.put_and_ring(1, "hold")
    wait_for(crew.marks)
    crew.worker("second")
    crew.clock()
    first.send(signal.SIGKILL)
    wait_for(lambda: rows(crew.database) == ["done"])
    assert crew.marks() == [(1, "started"), (2, "started"), (2, "finished")]


def test_a_worker_that_was_paused_past_its_lease_writes_nothing_when_it_wakes(crew):
    first = crew.worker("first")
    crew.put_and_ring(1, "hold_deaf")
    wait_for(crew.marks)
    first.send(signal.SIGSTOP)
    crew.worker("second")
    crew.clock()
    wait_for(lambda: rows(crew.database) == ["done"])
    first.send(signal.SIGCONT)
    wait_for(lambda: "belongs to another worker" in first.says())
    assert crew.marks() == [(1, "started"), (2, "started"), (2, "finished")]
    assert rows(crew.database, "state, attempt") == [("done", 2)]


def test_a_worker_told_to_stop_gives_its_job_back_at_once_and_uncounted(crew):
    worker = crew.worker()
    crew.put_and_ring(1, "hold")
    wait_for(crew.marks)
    worker.popen.send_signal(signal.SIGTERM)
    assert worker.popen.wait(10) == 0
    assert rows(crew.database, "state, attempt") == [("ready", 0)]


def test_a_worker_whose_job_hears_nothing_still_ends(crew):
    worker = crew.worker()
    crew.put_and_ring(1, "hold_for_ever")
    wait_for(crew.marks)
    family = psutil.Process(worker.pid).children(recursive=True)
    worker.popen.send_signal(signal.SIGTERM)
    worker.popen.wait(15)
    wait_for(lambda: not any(process.is_running() for process in family))
    assert rows(crew.database, "state, attempt") == [("running", 1)]  # until its lease ends


def test_worker_processes_share_no_database_connection(crew):
    worker = crew.worker()
    for number in range(20):
        crew.put_and_ring(number, "quick")
    wait_for(lambda: rows(crew.database) == ["done"] * 20)
    parent = psutil.Process(worker.pid)
    sockets = [c for c in parent.net_connections("unix") if ".s.PGSQL" in (c.raddr or "")]
    assert sockets == []
