"""Limits of the webhook: bodies too large, too slow or too many, headers read first, and open connections."""

import socket

import pytest

from app.web import main
from app.web.webhook import PATH, RequestLimits
from tests.app.web.web_process import SECRET, headers, issue_opened, serve_web, settings
from tests.services import wait_for

pytestmark = pytest.mark.services


def test_a_body_that_says_it_is_too_large_is_refused_unread(door):
    with socket.create_connection(("127.0.0.1", int(door.url.rsplit(":", 1)[1]))) as raw:
        raw.settimeout(5)
        raw.sendall(
            f"POST {PATH} HTTP/1.1\r\nHost: r4p\r\nContent-Length: {26 * 2**20}\r\n\r\n".encode()
        )
        assert b" 413 " in raw.recv(4096)


UNSIGNED = {
    "no signature": (401, {"X-Hub-Signature-256": None}),
    "malformed signature": (401, {"X-Hub-Signature-256": "sha256=0"}),
    "no event": (400, {"X-GitHub-Event": None}),
    "no GUID": (400, {"X-GitHub-Delivery": None}),
    "too large": (413, {"Content-Length": str(26 * 2**20)}),
    "no number": (400, {"Content-Length": "1e3"}),
}


def connection(door):
    raw = socket.create_connection(("127.0.0.1", int(door.url.rsplit(":", 1)[1])))
    raw.settimeout(20)
    return raw


def request_head(**changes):
    """The head of a request that announces a body of 20 MB."""
    merged = {"Host": "r4p", "Content-Length": str(20 * 2**20), **headers(b"")} | changes
    lines = [f"{name}: {value}" for name, value in merged.items() if value is not None]
    return "\r\n".join([f"POST {PATH} HTTP/1.1", *lines, "", ""]).encode()


def reply_to(raw):
    """All that the server answers before it ends the connection."""
    return b"".join(iter(lambda: raw.recv(65_536), b""))


@pytest.mark.parametrize(("status", "changes"), UNSIGNED.values(), ids=UNSIGNED)
def test_bad_headers_are_refused_before_the_body_is_sent(door, status, changes):
    with connection(door) as raw:
        raw.sendall(request_head(**changes))
        assert f" {status} ".encode() in reply_to(raw).partition(b"\r\n")[0]


def test_each_refusal_is_counted_by_its_reason(door):
    for name in ("no event", "no GUID", "malformed signature", "too large"):
        with connection(door) as raw:
            raw.sendall(request_head(**UNSIGNED[name][1]))
            reply_to(raw)
    lines = door.get_operations("/metrics").text.splitlines()
    counted = [line for line in lines if line.startswith("r4p_refused_deliveries_total{")]
    assert [line.partition("=")[2] for line in counted if not line.endswith(" 0.0")] == [
        '"header"} 2.0',
        '"signature"} 1.0',
        '"size"} 1.0',
    ]


def test_a_body_that_stops_arriving_is_refused_at_its_deadline(database_url, services, broker):
    limits = RequestLimits((SECRET,), 2**20, body_seconds=0.3)
    with serve_web(settings(database_url, services.redis_url), limits) as door:
        connections = [connection(door) for _ in range(5)]
        for raw in connections:
            raw.sendall(request_head(**{"Content-Length": "1000000"}) + b"x" * 500_000)
        answers = [reply_to(raw) for raw in connections]
        for raw in connections:
            raw.close()
        assert all(b" 408 " in answer.partition(b"\r\n")[0] for answer in answers)
        series = 'r4p_refused_deliveries_total{reason="timeout"} 5.0'
        assert series in door.get_operations("/metrics").text.splitlines()
        assert door.knock(issue_opened()).status_code == 202


def test_all_bodies_together_hold_no_more_than_the_limit(database_url, services, broker):
    limits = RequestLimits((SECRET,), 2**20, body_seconds=20, in_flight_bytes=900_000)
    large = b"x" * 800_000
    with serve_web(settings(database_url, services.redis_url), limits) as door:
        with connection(door) as waiting:
            waiting.sendall(request_head(**{"Content-Length": "1000000"}) + b"x" * 500_000)
            wait_for(lambda: door.knock(large).status_code == 503)
            refused = door.knock(large)
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "10")
            assert door.knock(issue_opened()).status_code == 202
        wait_for(lambda: door.knock(large).status_code == 202)


def test_a_body_that_only_turns_out_too_large_is_refused(door, database):
    def chunks():
        for _ in range(26 * 16):
            yield b"x" * 2**16

    reply = door.client.post(door.url + PATH, content=chunks(), headers=headers(b""))
    assert reply.status_code == 413
    assert door.knock(issue_opened()).status_code == 202


def test_connections_above_the_limit_get_503(database_url, services, broker, monkeypatch):
    of, served = settings(database_url, services.redis_url), {}
    monkeypatch.setattr(main, "MAX_CONNECTIONS", 3)
    monkeypatch.setattr(main, "load_web_settings", lambda: of)
    monkeypatch.setattr(main.logs, "configure", lambda _settings: None)
    monkeypatch.setattr(main.uvicorn, "run", lambda _app, **options: served.update(options))
    main.serve("127.0.0.1", 0)
    with serve_web(of, connections=served["limit_concurrency"]) as door:
        with connection(door), connection(door):
            assert door.knock(issue_opened()).status_code == 503
        wait_for(lambda: door.knock(issue_opened()).status_code == 202)
