"""With R4P_LOG_FORMAT=json every process writes JSON lines, and each line of a delivery or a job names its ids."""

import json
import logging
import signal
import sys
import uuid
from contextlib import contextmanager
from io import StringIO

import httpx
import pytest
from sqlalchemy import text

from app.jobs.job import Queue, VerifyGroup
from app.logs import configure
from app.settings import LogSettings, QueueSettings
from app.web.signature import sign
from app.web.webhook import PATH
from tests.app.web.web_process import issue_opened
from tests.builders.queue_rows import put
from tests.services import SECRET, child, free_port, wait_for
from worker.queue.runner import Runner

pytestmark = pytest.mark.services

IDS = {"delivery", "job", "repository", "evaluation"}


@pytest.fixture
def environment(services, broker, database_url):
    return {
        "R4P_DATABASE_URL": database_url,
        "R4P_REDIS_URL": services.redis_url,
        "R4P_WEBHOOK_SECRET": SECRET.decode(),
        "R4P_LOG_FORMAT": "json",
        "R4P_LOG_LEVEL": "DEBUG",
        "R4P_VERIFIER": "consensus",
    }


@pytest.fixture
def start(environment, tmp_path):
    """`start(begun, *arguments)`: a running process of the bot that has logged `begun`."""

    @contextmanager
    def run(begun, *arguments):
        with child(["app.cli", *arguments], environment, tmp_path / "log") as process:
            wait_for(lambda: begun in process.says(), seconds=60)
            yield process

    return run


@pytest.fixture
def read_log(monkeypatch):
    """Log the worker's code of this process as JSON; `read_log()` returns the lines so far."""
    root, written = logging.getLogger(), StringIO()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "stderr", written)
    configure(LogSettings(log_format="json"))
    (handler,) = root.handlers
    monkeypatch.undo()
    logger = logging.getLogger("worker")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield lambda: parse(written.getvalue())
    logging.captureWarnings(capture=False)
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def end(process):
    """Stop a process as a supervisor does; return all its lines, each of which must be a whole JSON record."""
    process.popen.send_signal(signal.SIGTERM)
    process.popen.wait(30)
    return parse(process.says())


def parse(written):
    records = [json.loads(line) for line in written.splitlines()]
    assert all({"at", "level", "logger", "process", "message"} <= set(one) for one in records)
    return records


def find_ids(records, message):
    """The ids in the single record that contains a message."""
    (record,) = [one for one in records if message in one["message"]]
    return {name: record[name] for name in IDS & set(record)}


def test_beat_knows_no_delivery_and_no_job(start):
    with start("ready", "beat") as beat:
        records = end(beat)
    assert find_ids(records, "ready") == {}
    assert all(IDS.isdisjoint(one) for one in records)


def test_each_line_of_the_web_process_names_its_delivery(start):
    port, guid, forged = free_port(), str(uuid.uuid4()), str(uuid.uuid4())
    with start("Uvicorn running on http", "serve", "--port", str(port)) as web:
        body = issue_opened()
        head = {"X-GitHub-Event": "issues", "X-GitHub-Delivery": guid}
        good = head | {"X-Hub-Signature-256": sign(body, SECRET)}
        false = good | {"X-GitHub-Delivery": forged, "X-Hub-Signature-256": sign(body, b"guess")}
        url = f"http://127.0.0.1:{port}{PATH}"
        with httpx.Client(trust_env=False, timeout=20) as github:
            sent = [github.post(url, content=body, headers=each) for each in (good, false)]
            ignored = good | {"X-GitHub-Event": "star"}
            sent.append(github.post(url, content=body, headers=ignored))
        records = end(web)
    assert [each.status_code for each in sent] == [202, 401, 202]
    assert find_ids(records, "issues is stored: new") == {"delivery": guid}
    assert find_ids(records, "star is ignored") == {"delivery": guid}
    assert find_ids(records, "Uvicorn running on") == {}
    assert forged not in json.dumps(records)


def test_each_line_of_a_workers_job_names_the_job_its_delivery_and_its_evaluation(
    start, database, doorbell
):
    with start("ready", "worker", "--queues", "verify", "--concurrency", "1") as worker:
        (stored,) = put(database, VerifyGroup(5, 7, 1, 9), delivery="guid-1")
        assert doorbell.ring(Queue.VERIFY)
        wait_for(lambda: "verify_group is done" in worker.says())
        records = end(worker)
    ids = {"job": stored.id, "delivery": "guid-1", "repository": 7, "evaluation": 9}
    assert find_ids(records, "verify_group is done") == ids
    assert find_ids(records, "the worker has stopped") == {}


def test_the_job_that_begins_an_evaluation_names_it_from_then_on(scene, doorbell, read_log):
    scene.begin("w * h", "w - h")
    (stored,) = put(scene.database, scene.want_evaluation(), delivery="guid-1")
    handlers = {"evaluate_issue": scene.collecting()}
    assert Runner(scene.database, handlers, doorbell, QueueSettings()).answer(Queue.GITHUB) == 1
    with scene.database.connect() as connection:
        created = connection.execute(text("select id from evaluations")).scalar_one()
    ids = {"job": stored.id, "delivery": "guid-1", "repository": scene.id, "evaluation": created}
    assert find_ids(read_log(), "evaluate_issue is done") == ids
