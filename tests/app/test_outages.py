"""The door while what it stands on is dead, hung or slow."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import psutil
import pytest

from app.db.session import engine
from app.webhook import PATH
from tests import services as running_services
from tests.app.db.store.stored import rows
from tests.app.door import SECRET, headers, issue_opened, opened, settings
from tests.services import child, free_port, wait_for

pytestmark = pytest.mark.services

FAST_SECONDS = 1.0


@pytest.fixture(scope="module")
def servers():
    """Servers of this module's own, to be stopped and killed."""
    with running_services.running() as own:
        yield own


@pytest.fixture
def door(servers):
    with opened(settings(servers.clean_database(), servers.redis_url)) as running:
        yield running


@pytest.fixture
def database(servers):
    pooled = engine(servers.embedded.url(running_services.SHARED))
    yield pooled
    pooled.dispose()


@contextmanager
def paused(pid: int) -> Iterator[None]:
    """A process and its children, stopped as a hung machine would stop them."""
    family = [pid, *(process.pid for process in psutil.Process(pid).children())]
    for member in family:
        os.kill(member, signal.SIGSTOP)
    try:
        yield
    finally:
        for member in family:
            os.kill(member, signal.SIGCONT)


def seconds(reply) -> float:
    return reply.elapsed.total_seconds()


def test_a_hung_broker_delays_no_answer_and_loses_no_job(door, servers, database):
    door.knock(issue_opened())
    with paused(servers.embedded.valkey_pid):
        replies = [door.knock(issue_opened()) for _ in range(10)]
        assert {reply.status_code for reply in replies} == {202}
        assert max(map(seconds, replies)) < FAST_SECONDS
        wait_for(lambda: "r4p_doorbell_failures_total" in door.get("/metrics").text)
        assert door.get("/readyz").json()["status"] == "degraded"
    assert rows(database) == ["ready"] * 11


def test_a_hung_database_is_answered_with_503_before_github_gives_up(door, servers, database):
    body = issue_opened()
    head = headers(body)
    with paused(servers.embedded.postgres_pid):
        reply = door.knock(body, head)
        assert (reply.status_code, reply.json()["status"]) == (503, "unavailable")
        assert seconds(reply) < 5
        assert door.get("/healthz").status_code == 200
    wait_for(lambda: door.knock(body, head).status_code == 202)
    assert rows(database) == ["ready"]


def test_a_database_that_stalls_for_two_seconds_loses_no_delivery(door, servers, database):
    door.knock(issue_opened())
    with paused(servers.embedded.postgres_pid):
        replies = []
        knocking = threading.Thread(target=lambda: replies.append(door.knock(issue_opened())))
        knocking.start()
        time.sleep(2)  # the stall itself is what is tested
    knocking.join()
    assert [reply.status_code for reply in replies] == [202]
    assert rows(database) == ["ready"] * 2


def test_a_dead_broker_delays_no_answer(servers, database):
    nobody = "redis+socket:///nonexistent/socket"
    with opened(settings(servers.clean_database(), nobody)) as door:
        replies = [door.knock(issue_opened()) for _ in range(10)]
    assert {reply.status_code for reply in replies} == {202}
    assert max(map(seconds, replies)) < FAST_SECONDS
    assert rows(database) == ["ready"] * 10


def test_the_door_survives_a_restart_of_the_database(door, servers, database):
    door.knock(issue_opened())
    database.dispose()
    servers.embedded.stop()
    reply = door.knock(issue_opened())
    assert (reply.status_code, door.get("/readyz").status_code) == (503, 503)
    assert seconds(reply) < 5
    servers.embedded.__enter__()
    wait_for(lambda: door.knock(issue_opened()).status_code == 202)
    assert "ready" in rows(database)


def test_a_flood_of_oversized_bodies_does_not_fill_the_memory(servers, tmp_path):
    port = free_port()
    environment = {
        "R4P_DATABASE_URL": servers.clean_database(),
        "R4P_REDIS_URL": servers.redis_url,
        "R4P_WEBHOOK_SECRET": SECRET.decode(),
    }
    url = f"http://127.0.0.1:{port}"
    with child(["app.cli", "serve", "--port", str(port)], environment, tmp_path / "log") as web:
        wait_for(lambda: _listens(port))
        process = psutil.Process(web.pid)
        before = process.memory_info().rss
        assert max(_flood(url, process) for _ in range(3)) - before < 64 * 2**20


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _flood(url: str, process: psutil.Process) -> int:
    """Send 26 MiB in pieces; the most memory the process was seen to hold."""
    seen = []

    def pieces():
        for _ in range(26 * 16):
            seen.append(process.memory_info().rss)
            yield b"x" * 2**16

    assert httpx.post(url + PATH, content=pieces(), headers=headers(b"")).status_code == 413
    return max([*seen, process.memory_info().rss])
