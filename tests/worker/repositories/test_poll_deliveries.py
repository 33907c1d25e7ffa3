"""A bot that GitHub cannot reach reads each webhook once from GitHub's list, as if it had come."""

from threading import Event

import pytest

from app.db import migrate, process_roles
from app.db.process_roles import build_role_url
from app.db.session import create_database_engine, transaction
from app.db.store.issues import webhook_state
from app.db.store.queue import jobs
from app.jobs.job import OF_THE_APP, Planned, Redeliver
from app.operator.embedded import Embedded
from app.policy.delivery_decision import build_decide
from app.settings import IdentitySettings
from tests.builders.worker_scene import Scenery
from tests.github.stand_in import StandIn
from worker.queue.context import Context
from worker.queue.errors import Postponed
from worker.repositories import poll_deliveries
from worker.repositories.poll_deliveries import DeliveryPoller

pytestmark = pytest.mark.services


@pytest.fixture
def database(tmp_path):
    """A database of its own server, as the worker that polls logs in. Roles belong to a server."""
    with Embedded(tmp_path / "data") as server:
        migrate.upgrade(server.database_url)
        process_roles.create_roles(server.database_url, can_log_in=True)
        engine = create_database_engine(build_role_url(server.database_url, "github"))
        yield engine
        engine.dispose()


@pytest.fixture
def standin(tmp_path):
    with StandIn.start(tmp_path / "github") as running:
        yield running


@pytest.fixture
def scene(standin, database, tmp_path):
    app = standin.register_app(webhook_url="http://127.0.0.1:9/hook")
    made = Scenery(standin, app, database, tmp_path / "checkouts")
    yield made
    made.github.close()
    assert standin.violations() == []


@pytest.fixture
def poll(database, scene):
    """One run, as a worker ends it; whether it left nothing unread."""
    poller = DeliveryPoller(scene.github, build_decide(IdentitySettings(app_id=scene.app.app_id)))

    def run():
        with transaction(database) as connection:
            (stored,) = jobs.enqueue(connection, [Planned(Redeliver(OF_THE_APP))])
        claimed = jobs.claim(database, stored.id, 60)
        context = Context(database, claimed, Event(), lambda: False)
        try:
            poller(context, claimed.job)
        except Postponed as postponed:
            return not jobs.postpone(database, claimed, str(postponed), postponed.after_seconds)
        return jobs.finish(database, claimed)

    return run


def list_stored(database, standin):
    with transaction(database) as connection:
        return webhook_state.find_stored(connection, {d.guid for d in standin.deliveries()})


def count_reads(standin, mark):
    return standin.calls(mark).operations.get("GET /app/hook/deliveries/{delivery_id}", 0)


def test_what_never_arrived_is_stored_with_its_jobs_and_read_once(standin, database, scene, poll):
    scene.begin()
    scene.repo.open_issue("Nobody listens")
    standin.drain()
    sent = {delivery.guid: delivery.event for delivery in standin.deliveries()}
    mark = standin.mark()
    assert poll()
    stored = list_stored(database, standin)
    assert {sent[guid] for guid in stored} >= {"installation", "issues"}
    assert count_reads(standin, mark) == len(sent)
    with transaction(database) as connection:
        kinds = set(connection.exec_driver_sql("select kind from jobs").scalars())
    assert "record_event" in kinds
    mark = standin.mark()
    assert poll()
    assert count_reads(standin, mark) == 0
    assert list_stored(database, standin) == stored


def test_more_than_one_run_reads_are_read_by_the_next(standin, database, scene, poll, monkeypatch):
    monkeypatch.setattr(poll_deliveries, "MOST_FETCHED", 2)
    scene.begin()
    for number in range(3):
        scene.repo.open_issue(f"Issue {number}")
    standin.drain()
    runs = [poll() for _ in range(5)]
    assert runs[0] is False
    assert runs[-1] is True
    issues = {d.guid for d in standin.deliveries() if d.event == "issues"}
    assert issues <= list_stored(database, standin)
