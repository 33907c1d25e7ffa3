"""The door: what is let in is committed once, what is not leaves no trace, nothing crashes it."""

import asyncio
import json
import lzma
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event as sql_event
from sqlalchemy import text

from app.db.store.queue import jobs
from app.metrics import Metrics
from app.web.health import CACHE_SECONDS, Health
from app.web.signature import sign
from app.web.stored_metrics import StoredMetrics
from app.web.webhook import PATH
from tests.app.web.web_process import OTHER, SECRET, headers, issue_opened, serve_web, settings
from tests.builders.queue_rows import LEASE, execute, rows
from tests.services import ROOT

pytestmark = pytest.mark.services


def deliveries(database, columns="guid"):
    with database.connect() as connection:
        return list(
            connection.scalars(
                text(
                    f"select {columns} from deliveries left join delivery_bodies on delivery_id = id order by id"
                )
            )
        )


def test_a_delivery_is_stored_with_its_job_and_the_bell_is_rung(door, database, broker):
    body = issue_opened()
    reply = door.knock(body, headers(body, guid="guid-1"))
    assert (reply.status_code, reply.json()) == (202, {"status": "new", "delivery": "guid-1"})
    assert deliveries(database, "body") == [body]
    assert rows(database, "kind, delivery_guid, state") == [("record_event", "guid-1", "ready")]
    message = json.loads(broker.blpop("events", timeout=5)[1])
    assert message["headers"]["task"] == "r4p.run"


def test_both_secrets_are_good_while_one_replaces_the_other(door, database):
    body = issue_opened()
    for secret in (SECRET, OTHER):
        reply = door.knock(body, headers(body) | {"X-Hub-Signature-256": sign(body, secret)})
        assert reply.status_code == 202
    assert len(deliveries(database)) == 2


FORGERIES = {
    "missing": [],
    "another secret": [("X-Hub-Signature-256", sign(issue_opened(), b"guess"))],
    "of another body": [("X-Hub-Signature-256", sign(b"{}", SECRET))],
    "not ASCII": [("X-Hub-Signature-256", "sha256=\xe9" + "0" * 63)],
    "twice, good first": [
        ("X-Hub-Signature-256", sign(issue_opened(), SECRET)),
        ("X-Hub-Signature-256", "sha256=" + "0" * 64),
    ],
    "twice the same": [("X-Hub-Signature-256", sign(issue_opened(), SECRET))] * 2,
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_delivery_leaves_nothing_behind(door, database, forgery):
    plain = [("X-GitHub-Event", "issues"), ("X-GitHub-Delivery", "guid-1")]
    reply = door.client.post(
        door.url + PATH,
        content=issue_opened(),
        headers=[(k, v.encode("latin-1")) for k, v in plain + forgery],
    )
    assert reply.status_code == 401
    assert deliveries(database) == rows(database) == []


@pytest.mark.parametrize("name", ["X-GitHub-Event", "X-GitHub-Delivery"])
@pytest.mark.parametrize("value", [None, "", "a b", "x" * 65, "\xe9"])
def test_a_delivery_without_its_headers_is_refused(door, database, name, value):
    body = issue_opened()
    head = {k: v.encode("latin-1") for k, v in headers(body).items() if k != name}
    reply = door.knock(body, head if value is None else head | {name: value.encode("latin-1")})
    assert reply.status_code == 400
    assert name in reply.json()["error"]
    assert deliveries(database) == []


@pytest.mark.parametrize("event", ["star", "projects_v2_item"])
def test_an_event_of_no_interest_is_counted_and_not_stored(database, services, broker, event):
    with serve_web(settings(services.clean_database(), services.redis_url)) as door:
        for _ in range(3):
            reply = door.knock(b"{}", headers(b"{}", event=event))
            assert (reply.status_code, reply.json()["status"]) == (202, "ignored")
    with database.connect() as connection:
        found = connection.execute(text("select reason, count from ignored_deliveries")).all()
    assert [tuple(row) for row in found] == [(f"not handled: {event}", 3)]
    assert deliveries(database) == []


def test_a_delivery_sent_by_thirty_two_threads_five_times_is_one_job(door, database):
    body = issue_opened()
    head = headers(body)
    with ThreadPoolExecutor(32) as threads:
        replies = list(threads.map(lambda _: door.knock(body, head), range(160)))
    assert {reply.status_code for reply in replies} == {202}
    said = [reply.json()["status"] for reply in replies]
    assert (said.count("new"), said.count("duplicate")) == (1, 159)
    assert rows(database) == ["ready"]


def test_a_redelivery_gives_work_that_gave_up_another_chance(door, database):
    body = issue_opened()
    head = headers(body)
    door.knock(body, head)
    (id_,) = rows(database, "id")
    jobs.bury(database, jobs.claim(database, id_, LEASE), "no use")
    assert door.knock(body, head).json()["status"] == "rearmed"
    assert rows(database, "state, attempt, error") == [("ready", 0, None)]
    assert door.knock(body, head).json()["status"] == "duplicate"


@pytest.mark.parametrize("state", ["running", "done", "superseded"])
def test_a_redelivery_of_work_that_is_alive_or_done_changes_nothing(door, database, state):
    body = issue_opened()
    head = headers(body)
    door.knock(body, head)
    execute(database, f"update jobs set state = '{state}'")
    assert door.knock(body, head).json()["status"] == "duplicate"
    assert rows(database) == [state]


def test_a_redelivery_does_not_revive_work_that_waits_again_already(door, database):
    body = issue_opened()
    head = headers(body, guid="guid-1")
    door.knock(body, head)
    execute(database, "update jobs set state = 'dead', key = 'evaluate_issue:7:1'")
    execute(
        database,
        "insert into jobs (kind, queue, key, payload, installation_id)"
        " values ('evaluate_issue', 'github', 'evaluate_issue:7:1', '{}', 5)",
    )
    assert door.knock(body, head).json()["status"] == "duplicate"
    assert rows(database) == ["dead", "ready"]


POISON = {
    "NUL": "a\0b",
    "lone surrogate": "\ud800",
    "astral": "\U0001f9ea" * 500,
    "right-to-left override": "\u202eevil\u2066",
    "SQL": "'); drop table jobs; --",
    "percent": "%s %(delivery)s %",
    "template": "{{7*7}} ${x} <script>",
}


@pytest.mark.parametrize("poison", POISON.values(), ids=POISON)
def test_text_written_by_a_stranger_neither_crashes_the_door_nor_is_lost(door, database, poison):
    issue = json.loads(issue_opened())["issue"] | {"title": poison, "body": poison * 3}
    body = issue_opened(issue=issue)
    assert door.knock(body).status_code == 202
    assert deliveries(database, "body") == [body]
    assert rows(database) == ["ready"]


MALFORMED = {
    "not JSON": b"<xml/>",
    "empty": b"",
    "a number": b"7",
    "cut off": issue_opened()[:-9],
    "not UTF-8": b'{"action": "\xff\xfe"}',
    "endless integer": b'{"installation": {"id": ' + b"9" * 5_000 + b"}}",
    "deep": b"[" * 100_000,
    "huge id": issue_opened(installation={"id": 2**70}),
    "id as text": issue_opened(installation={"id": "5"}),
    "no installation": issue_opened(installation=None),
    "repository of another type": issue_opened(repository=[]),
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_a_signed_body_that_makes_no_sense_is_ignored_with_a_reason(door, database, body):
    reply = door.knock(body)
    assert (reply.status_code, reply.json()["status"]) == (202, "ignored")
    assert reply.json()["reason"]
    assert deliveries(database) == []


def examples():
    """GitHub's own example of every event and action the App may be sent."""
    packed = (ROOT / "tests/github/schemas/examples.json.xz").read_bytes()
    webhooks = json.loads(lzma.decompress(packed))["webhooks"]
    return [(event, body) for event, actions in webhooks.items() for body in actions.values()]


def poison(value, rng):
    """The same JSON with strings, numbers and whole branches replaced by what breaks programs."""
    if rng.random() < 0.03:
        return rng.choice([*POISON.values(), None, [], {}, -1, 2**70, "x" * 10_000])
    if isinstance(value, dict):
        return {key: poison(inner, rng) for key, inner in value.items()}
    if isinstance(value, list):
        return [poison(inner, rng) for inner in value]
    return value


def test_no_spoilt_example_of_github_crashes_the_webhook_or_is_lost(door, database):
    rng = random.Random(7)
    kept = []
    for event, example in examples() * 6:
        body = json.dumps(poison({**example, "installation": {"id": 5}}, rng)).encode()
        reply = door.knock(body, headers(body, event=event))
        assert reply.status_code == 202
        if reply.json()["status"] == "new":
            kept.append(body)
    assert deliveries(database, "body") == kept
    assert len(kept) > 20


def test_web_process_serves_health_readiness_and_metrics(door):
    door.knock(issue_opened())
    assert door.get("/healthz").text == "ok\n"
    ready = door.get_operations("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    lines = door.get_operations("/metrics").text.splitlines()
    assert 'r4p_deliveries_total{event="issues",outcome="new"} 1.0' in lines
    assert 'r4p_jobs{queue="events",state="ready"} 1.0' in lines
    assert 'r4p_jobs{queue="github",state="dead"} 0.0' in lines
    assert 'r4p_jobs_lag_seconds{queue="github"} 0.0' in lines
    assert 'r4p_jobs_waiting{for="github"} 0.0' in lines
    assert "# TYPE r4p_ignored_deliveries_total counter" in lines


@pytest.mark.parametrize("path", ["/metrics", "/readyz"])
def test_port_of_the_webhook_answers_neither_metrics_nor_readiness(door, path):
    assert door.get(path).status_code == 404
    assert door.get_operations(path).status_code == 200


def test_two_hundred_scrapes_within_five_seconds_read_the_database_once(database, doorbell):
    queries, now = [], [0.0]
    sql_event.listen(database, "before_cursor_execute", lambda *call: queries.append(call[2]))
    metrics = Metrics()
    metrics.register(StoredMetrics(database))
    health = Health(database, doorbell, metrics, clock=lambda: now[0])

    async def scrape(times):
        answers = [health.answer_scrape(None) for _ in range(times)]
        answers += [health.answer_ready(None) for _ in range(times)]
        return {reply.status_code for reply in await asyncio.gather(*answers)}

    assert asyncio.run(scrape(1)) == {200}
    alone = len(queries)
    assert alone > 0
    now[0] = CACHE_SECONDS - 0.1
    assert asyncio.run(scrape(200)) == {200}
    assert len(queries) == alone
    now[0] = CACHE_SECONDS
    assert asyncio.run(scrape(200)) == {200}
    assert len(queries) == 2 * alone
