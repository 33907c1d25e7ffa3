"""The door while what it stands on is dead, hung or slow."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import psutil
import pytest

from app.db.session import create_database_engine
from app.web.webhook import PATH
from tests import services as running_services
from tests.app.web.web_process import SECRET, headers, issue_opened, serve_web, settings
from tests.builders.queue_rows import rows
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
    with serve_web(settings(servers.clean_database(), servers.redis_url)) as running:
        yield running


@pytest.fixture
def database(servers):
    pooled = create_database_engine(servers.embedded.build_url(running_services.SHARED))
    yield pooled
    pooled.dispose()


@contextmanager
def pause(pid: int) -> Iterator[None]:
    """A process and its children, stopped as a hung machine would stop them."""
    family = [pid, *(process.pid for process in psutil.Process(pid).children())]
    for member in family:
        os.kill(member, signal.SIGSTOP)
    try:
        yield
    finally:
        for member in family:
            os.kill(member, signal.SIGCONT)


def web_environment(servers) -> dict[str, str]:
    return {
        "R4P_DATABASE_URL": servers.clean_database(),
        "R4P_REDIS_URL": servers.redis_url,
        "R4P_WEBHOOK_SECRET": SECRET.decode(),
    }


def seconds(reply) -> float:
    return reply.elapsed.total_seconds()


def test_a_hung_broker_delays_no_answer_and_loses_no_job(door, servers, database):
    door.knock(issue_opened())
    with pause(servers.embedded.valkey_pid):
        replies = [door.knock(issue_opened()) for _ in range(10)]
        assert {reply.status_code for reply in replies} == {202}
        assert max(map(seconds, replies)) < FAST_SECONDS
        wait_for(
            lambda: "\nr4p_doorbell_failures_total 0.0" not in door.get_operations("/metrics").text
        )
        assert door.get_operations("/readyz").json()["status"] == "degraded"
    assert rows(database) == ["ready"] * 11


def test_a_hung_database_is_answered_with_503_before_github_gives_up(
    door, servers, database, caplog
):
    body = issue_opened()
    head = headers(body)
    with pause(servers.embedded.postgres_pid):
        reply = door.knock(body, head)
        assert (reply.status_code, reply.json()["status"]) == (503, "unavailable")
        assert seconds(reply) < 5
        assert door.get("/healthz").status_code == 200
    assert "issues is not stored: the database does not answer" in caplog.text
    wait_for(lambda: door.knock(body, head).status_code == 202)
    assert rows(database) == ["ready"]


def test_a_database_that_stalls_for_two_seconds_loses_no_delivery(door, servers, database):
    door.knock(issue_opened())
    with pause(servers.embedded.postgres_pid):
        replies = []
        knocking = threading.Thread(target=lambda: replies.append(door.knock(issue_opened())))
        knocking.start()
        knocking.join(2)  # the stall itself is what is tested
    knocking.join()
    assert [reply.status_code for reply in replies] == [202]
    assert rows(database) == ["ready"] * 2


def test_a_dead_broker_delays_no_answer(servers, database):
    nobody = "redis+socket:///nonexistent/socket"
    with serve_web(settings(servers.clean_database(), nobody)) as door:
        replies = [door.knock(issue_opened()) for _ in range(10)]
    assert {reply.status_code for reply in replies} == {202}
    assert max(map(seconds, replies)) < FAST_SECONDS
    assert rows(database) == ["ready"] * 10


def test_the_door_survives_a_restart_of_the_database(door, servers, database):
    door.knock(issue_opened())
    database.dispose()
    servers.embedded.stop()
    reply = door.knock(issue_opened())
    assert (reply.status_code, door.get_operations("/readyz").status_code) == (503, 503)
    assert seconds(reply) < 5
    servers.embedded.__enter__()
    wait_for(lambda: door.knock(issue_opened()).status_code == 202)
    assert "ready" in rows(database)


def test_acknowledged_deliveries_survive_a_killed_web_process(servers, database, tmp_path):
    port = free_port()
    environment = web_environment(servers)
    acknowledged = []
    for round_ in range(3):
        log = tmp_path / str(round_)
        with child(["app.cli", "serve", "--port", str(port)], environment, log) as web:
            wait_for(lambda: _listens(port))
            threads = [
                threading.Thread(target=_knock_until_refused, args=(port, acknowledged))
                for _ in range(4)
            ]
            for thread in threads:
                thread.start()
            enough = 100 * (round_ + 1)
            wait_for(lambda enough=enough: len(acknowledged) >= enough)
            web.send(signal.SIGKILL)
            for thread in threads:
                thread.join()
    stored = rows(database, "delivery_guid")
    assert set(acknowledged) <= set(stored)
    assert len(stored) == len(set(stored))


def _knock_until_refused(port: int, acknowledged: list[str]) -> None:
    body = issue_opened()
    with httpx.Client() as client:
        while True:
            head = headers(body)
            try:
                reply = client.post(f"http://127.0.0.1:{port}{PATH}", content=body, headers=head)
            except httpx.TransportError:
                return
            assert reply.status_code == 202
            acknowledged.append(head["X-GitHub-Delivery"])


def test_a_flood_of_oversized_bodies_does_not_fill_the_memory(servers, tmp_path):
    port = free_port()
    environment = web_environment(servers)
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
