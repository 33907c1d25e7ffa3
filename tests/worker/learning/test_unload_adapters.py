"""Adapters that nobody uses leave the servers, and nothing else does; on a real database."""

import socket
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import update

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import NewModel
from app.db.tables.schema import models as table
from app.jobs.job import OF_THE_APP, Planned
from app.jobs.learning_jobs import UnloadAdapters
from app.learning.model_serving import UNUSED_AFTER, Adapter, Alias, ModelState
from app.settings import EngineSettings
from tests.builders.job_attempts import carry_out
from tests.model.chat_server import Reply, serve_chat
from worker.learning.unload_adapters import plan_unloads, unload_adapters

pytestmark = pytest.mark.services

JOB = UnloadAdapters(OF_THE_APP)
FIRST, BEFORE, REJECTED, CHAMPION, CANARY, SHADOW, CANDIDATE = (
    f"r4p-20261122-{number:08x}" for number in range(7)
)
UNLOAD = "/v1/unload_lora_adapter"


def register(database, *names):
    with transaction(database) as connection:
        for name in names:
            adapter = Adapter(name, "base", Path("/runs") / name, name[-8:] * 8, "r4p")
            new = NewModel(adapter, Path("/runs"), ModelState.CANDIDATE, "passed", {})
            models.register(connection, new)


def fill_registry(database):
    """A registry with a model in every state, two that were champions among them."""
    register(database, FIRST, BEFORE, REJECTED, CHAMPION, CANARY, SHADOW, CANDIDATE)
    with transaction(database) as connection:
        for name in (FIRST, BEFORE, REJECTED, CHAMPION):
            models.promote(connection, name, Alias.CHAMPION, "better")
        models.promote(connection, CANARY, Alias.CANARY, "to be tried", 0.1)
        models.promote(connection, SHADOW, Alias.SHADOW, "to be seen")
        models.reject(connection, REJECTED, "worse")


def let_time_pass(database, passed=UNUSED_AFTER):
    moments = {one: one - passed for one in (table.c.created_at, table.c.changed_at)}
    with transaction(database) as connection:
        connection.execute(update(table).values(moments))


def plan(database):
    with transaction(database) as connection:
        return plan_unloads(connection)


@pytest.fixture
def server():
    """Tells that it serves the base, every model of the registry and an adapter of the operator's."""
    names = (FIRST, BEFORE, REJECTED, CHAMPION, CANARY, SHADOW, CANDIDATE)
    cards = [{"id": name, "root": f"/runs/{name}"} for name in names]
    with serve_chat(models=[Reply({"data": [{"id": "base"}, {"id": "own"}, *cards]})]) as running:
        running.routes[UNLOAD] = [Reply("done")]
        yield running


def handler(*urls):
    settings = EngineSettings(engine_url=urls[0], engine_urls=urls)
    return partial(unload_adapters, lambda: settings)


def list_unloaded(server):
    return {body["lora_name"] for body in server.list_bodies(UNLOAD)}


def test_unused_adapters_are_unloaded_and_the_rest_stays(twice, server):
    def arrange(database):
        fill_registry(database)
        let_time_pass(database)
        return JOB

    left = twice(handler(server.url), arrange, lambda _: list_unloaded(server))
    assert left == {FIRST, REJECTED, CANDIDATE}


def test_nothing_is_unloaded_as_long_as_a_verdict_may_ask_it(database, server):
    fill_registry(database)
    let_time_pass(database, UNUSED_AFTER - timedelta(minutes=1))
    assert plan(database) == []
    carry_out(database, handler(server.url), JOB)
    assert list_unloaded(server) == set()
    let_time_pass(database, timedelta(minutes=1))
    assert plan(database) == [Planned(JOB)]


def test_a_server_that_is_down_keeps_nobody_else_from_it_and_is_asked_again(
    database, server, caplog
):
    fill_registry(database)
    let_time_pass(database)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        carry_out(database, handler(dead, server.url), JOB)
    assert f"{dead} may still serve unused adapters: no engine answers" in caplog.text
    assert list_unloaded(server) == {FIRST, REJECTED, CANDIDATE}
    assert plan(database) == [Planned(JOB)]


def test_a_name_that_stands_for_other_files_there_is_the_operators(database, server):
    fill_registry(database)
    let_time_pass(database)
    server.routes["/v1/models"] = [Reply({"data": [{"id": FIRST, "root": "/elsewhere"}]})]
    carry_out(database, handler(server.url), JOB)
    assert list_unloaded(server) == set()


def test_without_models_or_servers_there_is_nothing_to_do(database):
    assert plan(database) == []
    fill_registry(database)
    let_time_pass(database)
    nowhere = partial(unload_adapters, EngineSettings)
    carry_out(database, nowhere, JOB)
