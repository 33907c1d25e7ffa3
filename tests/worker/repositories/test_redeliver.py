"""What never arrived is asked for again: once where that suffices, ever more rarely where it doesn't."""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread
from types import SimpleNamespace

import pytest

from app.db.session import transaction
from app.db.store.queue import jobs
from app.github.api.delivery_log import DeliveryAttempt
from app.jobs.job import OF_THE_APP, Planned, Redeliver
from tests.builders.github.local_github import LocalGitHub, Reply, connect
from tests.builders.worker_scene import Scenery
from tests.github.stand_in import StandIn
from worker.queue.context import Context
from worker.queue.errors import Postponed
from worker.repositories.redeliver import (
    MOST_ASKED,
    choose_redeliveries,
    describe_refused,
    find_missed,
    request_redeliveries,
)

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def build_attempt(guid, status, minutes_ago, *, again=False, switches=None):
    """One attempt; the later, the higher its id."""
    made = NOW - timedelta(minutes=minutes_ago)
    return DeliveryAttempt(100_000 - minutes_ago, guid, made, status, again, switches)


@pytest.mark.parametrize(
    ("attempts", "stored", "guids"),
    [
        pytest.param([build_attempt("a", 502, 9)], (), ["a"], id="failed"),
        pytest.param([build_attempt("a", 0, 9)], (), ["a"], id="no answer"),
        pytest.param([build_attempt("a", 504, 9)], {"a"}, [], id="we have it all the same"),
        pytest.param([build_attempt("a", 202, 9)], (), [], id="arrived"),
        pytest.param([build_attempt("a", 413, 9)], (), [], id="would be refused again"),
        pytest.param(
            [build_attempt("a", 202, 1, again=True), build_attempt("a", 502, 9)],
            (),
            [],
            id="came later",
        ),
        pytest.param(
            [build_attempt("a", 502, 9, again=True)], (), [], id="began before what is settled"
        ),
        pytest.param(
            [build_attempt("a", 502, 1, again=True), build_attempt("a", 502, 2_200)],
            (),
            [],
            id="hopeless",
        ),
        pytest.param(
            [build_attempt("a", 502, 3), build_attempt("b", 502, 9)],
            (),
            ["b", "a"],
            id="oldest first",
        ),
        pytest.param(
            [build_attempt("b", 202, 3, switches=7), build_attempt("a", 502, 9, switches=7)],
            (),
            [],
            id="suspended, but awake again since",
        ),
        pytest.param(
            [build_attempt("b", 502, 3, switches=7), build_attempt("a", 502, 9, switches=7)],
            (),
            ["b"],
            id="the last word counts",
        ),
        pytest.param(
            [
                build_attempt("a", 502, 1, again=True, switches=7),
                build_attempt("b", 202, 3, switches=7),
                build_attempt("a", 502, 9, switches=7),
            ],
            (),
            [],
            id="asked for again, and awake since it was first sent",
        ),
        pytest.param(
            [
                build_attempt("b", 502, 1, again=True, switches=7),
                build_attempt("a", 502, 9, switches=7),
            ],
            (),
            ["a"],
            id="sent again, but first before",
        ),
        pytest.param(
            [build_attempt("b", 202, 3, switches=8), build_attempt("a", 502, 9, switches=7)],
            (),
            ["a"],
            id="another is awake",
        ),
    ],
)
def test_a_delivery_is_missing_until_an_attempt_arrives(attempts, stored, guids):
    assert [mine[0].guid for mine in find_missed(attempts, stored)] == guids


def test_refused_webhooks_are_told_with_their_number_and_the_fix():
    attempts = [
        build_attempt("d", 413, 1),
        *(build_attempt("a", 413, 2, again=True), build_attempt("a", 502, 3)),
        *(build_attempt("b", 400, 4), build_attempt("c", 413, 5), build_attempt("e", 502, 6)),
        *(build_attempt("f", 202, 7, again=True), build_attempt("f", 413, 8)),
    ]
    told = describe_refused(attempts, {"c"})
    assert told.startswith("3 webhooks were refused and are lost (400: 1, 413: 2), such as d: ")
    assert "bodies of 25 MB" in told
    assert describe_refused(attempts[4:], {"b", "c"}) is None


@pytest.mark.parametrize(
    ("attempts", "asked"),
    [
        pytest.param([build_attempt("a", 502, 9)], True, id="never asked"),
        pytest.param([build_attempt("a", 502, 0)], True, id="only just failed"),
        pytest.param([build_attempt("a", 502, -3)], True, id="failed by GitHub's clock later"),
        pytest.param(
            [build_attempt("a", 502, 0, again=True), build_attempt("a", 502, 0)],
            False,
            id="twice just now",
        ),
        pytest.param(
            [build_attempt("a", 502, 5, again=True), build_attempt("a", 502, 11)], False, id="rests"
        ),
        pytest.param(
            [build_attempt("a", 502, 6, again=True), build_attempt("a", 502, 11)],
            True,
            id="has rested",
        ),
    ],
)
def test_each_rests_as_long_as_it_was_tried(attempts, asked):
    due = choose_redeliveries(find_missed(attempts, ()), NOW, door_open=True)
    assert bool(due) is asked
    assert not asked or due == (attempts[0],)


def test_a_shut_door_is_tried_with_one_and_an_open_one_with_so_many_at_a_time():
    missing = find_missed([build_attempt(f"{n:03}", 502, 9 + n) for n in range(MOST_ASKED + 5)], ())
    assert [one.guid for one in choose_redeliveries(missing, NOW, door_open=False)] == ["104"]
    assert len(choose_redeliveries(missing, NOW, door_open=True)) == MOST_ASKED


@contextmanager
def door(status=202):
    """Answers every webhook with a status."""

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Answering)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def standin(tmp_path):
    with StandIn.start(tmp_path / "github") as running:
        yield running


@pytest.fixture
def app(standin):
    return standin.register_app(webhook_url="http://127.0.0.1:9/hook")


@pytest.fixture
def scene(standin, app, database, tmp_path):
    made = Scenery(standin, app, database, tmp_path / "checkouts")
    yield made
    made.github.close()
    assert standin.violations() == []


def look(database, scene):
    """One run, as a worker ends it; whether it left nothing missing."""
    with transaction(database) as connection:
        (stored,) = jobs.enqueue(connection, [Planned(Redeliver(OF_THE_APP))])
    claimed = jobs.claim(database, stored.id, 60)
    context = Context(database, claimed, Event(), lambda: False)
    try:
        request_redeliveries(scene.github, context, claimed.job)
    except Postponed as postponed:
        return not jobs.postpone(database, claimed, str(postponed), postponed.after_seconds)
    return jobs.finish(database, claimed)


def count_asked(standin, mark):
    name = "POST /app/hook/deliveries/{delivery_id}/attempts"
    return standin.calls(mark).operations.get(name, 0)


@pytest.mark.services
def test_when_the_door_is_open_again_what_it_missed_is_asked_for_once_and_arrives(
    standin, app, database, scene
):
    scene.begin("w * h")
    standin.drain()
    mark, missing = standin.mark(), {sent.guid for sent in standin.deliveries()}
    with door() as url:
        standin.set_webhook_url(app.app_id, url)
        scene.repo.open_issue("The door is open")
        standin.drain()
        assert not look(database, scene)
        standin.drain()
        assert look(database, scene)
        assert look(database, scene)
        assert count_asked(standin, mark) == len(missing) > 2
    assert missing < {sent.guid for sent in standin.deliveries() if sent.status_code == 202}


@pytest.mark.services
@pytest.mark.parametrize("status", [400, 413])
def test_webhook_that_is_refused_for_good_is_requested_once_at_most(
    standin, app, database, scene, status
):
    scene.begin()
    standin.drain()
    mark, missing = standin.mark(), {sent.guid for sent in standin.deliveries()}
    with door(status) as url:
        standin.set_webhook_url(app.app_id, url)
        scene.repo.open_issue("Too large")
        standin.drain()
        for _ in range(len(missing)):
            assert not look(database, scene)
            standin.drain()
        assert look(database, scene)
        assert look(database, scene)
    assert count_asked(standin, mark) == len(missing)


@pytest.mark.services
def test_while_the_door_is_shut_one_is_sent_to_see_and_then_rests(standin, database, scene):
    scene.begin()
    standin.drain()
    mark = standin.mark()
    missing = len({sent.guid for sent in standin.deliveries()})
    for number in range(missing + 2):
        assert not look(database, scene)
        standin.drain()
        assert count_asked(standin, mark) == min(number + 1, missing)


@pytest.mark.services
def test_a_webhook_that_github_will_not_send_again_keeps_no_other_from_coming(database):
    now = datetime.now(UTC)
    listed = [
        {
            "id": 2 - place,
            "guid": guid,
            "delivered_at": (now - timedelta(minutes=place)).isoformat(),
            "redelivery": False,
            "status_code": status,
            "event": "issues",
            "action": "opened",
            "installation_id": 7,
        }
        for place, (guid, status) in enumerate([("arrived", 202), ("b", 502), ("a", 502)])
    ]
    server = LocalGitHub()
    server.replies = [Reply(200, listed), Reply(422), Reply(202)]
    with server.running(), connect(server.url) as github:
        assert not look(database, SimpleNamespace(github=github))
    assert [asked.path.split("/")[-2] for asked in server.asked[1:]] == ["0", "1"]
