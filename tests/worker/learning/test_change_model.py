"""A request from the Models page changes a role once, or is refused in one line that the page shows."""

import json
import threading
from dataclasses import asdict
from pathlib import Path

import pytest

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import NewModel
from app.db.store.queue import progress
from app.jobs.job import OF_THE_APP
from app.jobs.learning_jobs import ChangeModel
from app.learning.gate_rules import Rules
from app.learning.model_serving import Adapter, Alias, ModelState
from app.settings import EngineSettings
from model.adapters import adapter_files
from model.adapters.adapter_probe import Probe
from tests.builders.job_attempts import carry_out
from tests.model.chat_server import ChatServer, Reply
from worker.learning.change_model import DONE_BEFORE, TOO_OLD, ChangeModelHandler

pytestmark = pytest.mark.services

OLD, NEW, FAILED = "r4p-20261101-0badcafe", "r4p-20261102-00c0ffee", "r4p-20261103-0000dead"
PASSED = {"outcome": "passed", "measured": {"champion": NEW}, "rules": None}
NOWHERE = "http://127.0.0.1:9/v1"


def save_models(database, folder=Path("/nowhere"), first="0" * 64):
    """Two champions, one after the other, and a candidate whose gate failed. `first` is the first one's SHA-256."""
    with transaction(database) as connection:
        for number, name in enumerate((OLD, NEW, FAILED)):
            digest = str(number) * 64 if number else first
            adapter = Adapter(name, "base", folder, digest, "r4p")
            gate = {"outcome": "failed", "why": "worse"} if name == FAILED else PASSED
            models.register(
                connection, NewModel(adapter, Path("/"), ModelState.CANDIDATE, "", gate)
            )
        for name in (OLD, NEW):
            models.promote(connection, name, Alias.CHAMPION, "for these tests")


def create_handler(url):
    settings = EngineSettings(engine_url=url, model="base", verifier="r4p")
    return ChangeModelHandler(lambda: settings, Rules)


@pytest.fixture
def handler():
    return create_handler(NOWHERE)


def ask(model="", *, alias="champion", holder=NEW, name="a1"):
    return ChangeModel(OF_THE_APP, name, "ops", alias, model, holder)


def observe(database):
    with transaction(database) as connection:
        holder = models.find_alias_holder(connection, Alias.CHAMPION)
        moves = models.list_moves(connection)
        states = {model.adapter.name: model.state.value for model in models.list_models(connection)}
    return holder.adapter.name, len(moves), states


def read_report(database):
    with transaction(database) as connection:
        return progress.list_reports(connection, ChangeModel.kind, 1)[0].progress


def test_a_rollback_happens_once_whatever_dies(twice, handler):
    def arrange(database):
        save_models(database)
        return ask()

    champion, moves, states = twice(handler, arrange, observe)
    assert (champion, moves) == (OLD, 3)
    assert states == {OLD: "champion", NEW: "rejected", FAILED: "candidate"}


def test_a_request_that_waited_for_an_hour_changes_nothing(database, handler):
    save_models(database)
    before = observe(database)

    def run_late(context, job):
        with transaction(database) as connection:
            connection.exec_driver_sql("update jobs set created_at = now() - interval '61 minutes'")
        handler(context, job)

    carry_out(database, run_late, ask())
    assert observe(database) == before
    assert read_report(database) == TOO_OLD


def test_who_asked_stays_in_the_history(database, handler):
    save_models(database)
    carry_out(database, handler, ask())
    with transaction(database) as connection:
        newest = models.list_moves(connection)[0]
    assert newest.why.startswith("rolled back: ops asked for it on the Models page (request ")
    assert read_report(database) == f"{NEW} is rejected; {OLD} judges"


@pytest.fixture
def server():
    """A model server that has only the base and accepts every adapter."""
    routes = {
        "/v1/models": [Reply({"data": [{"id": "base"}]})],
        "/v1/load_lora_adapter": [Reply("")],
    }
    with ChatServer(routes) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def write_adapter(folder):
    """Two files that stand for the adapter of the first champion; returns their SHA-256."""
    folder.mkdir()
    for name in adapter_files.FILES:
        (folder / name).write_text("weights")
    return adapter_files.hash_adapter(folder)


def test_a_retry_of_a_rollback_loads_the_champion(database, handler, server, tmp_path):
    """The first attempt moved the alias and reached no server, as when its worker dies in between."""
    folder = tmp_path / "adapter"
    save_models(database, folder, write_adapter(folder))
    reports = []

    def run_twice(context, job):
        for each in (handler, create_handler(server.url)):
            each(context, job)
            reports.append(read_report(database))

    carry_out(database, run_twice, ask())
    assert reports == [f"{NEW} is rejected; {OLD} judges", DONE_BEFORE]
    wanted = {"lora_name": OLD, "lora_path": str(folder)}
    assert server.list_bodies("/v1/load_lora_adapter") == [wanted]
    assert observe(database)[:2] == (OLD, 3)


@pytest.mark.parametrize("missing", ["probe.json", *adapter_files.FILES])
def test_a_file_that_cannot_be_read_rejects_no_model(database, handler, tmp_path, missing):
    folder = tmp_path / "adapter"
    digest, good = write_adapter(folder), "r4p-20261104-00facade"
    (tmp_path / "probe.json").write_text(json.dumps(asdict(Probe(digest, ()))))
    path = next(tmp_path.rglob(missing))
    path.unlink()
    save_models(database)
    gate = PASSED | {"rules": asdict(Rules())}
    adapter = Adapter(good, "base", folder, digest, "r4p")
    with transaction(database) as connection:
        models.register(
            connection, NewModel(adapter, tmp_path, ModelState.CANDIDATE, "measured", gate)
        )
    before = observe(database)
    carry_out(database, handler, ask(good))
    assert before[2][good] == "candidate"
    assert read_report(database) == (
        f"refused: {good} is not promoted, nothing has changed: {path} can't be read (No such file or directory); "
        "restore the file, or mount its folder where this process runs"
    )
    assert observe(database) == before


@pytest.mark.parametrize(
    ("job", "report"),
    [
        (ask(holder=OLD), f"refused: the champion was {OLD}, and {NEW} is it now; look again"),
        (ask(holder=""), f"refused: the champion was no model, and {NEW} is it now; look again"),
        (ask(alias="canary", holder=""), "refused: no model is the canary, so there is nothing"),
        (ask(OLD, holder=OLD), f"refused: the champion was {OLD}, and {NEW} is it now"),
        (ask(FAILED), f"refused: {FAILED} did not pass the gate (failed: worse)"),
        (ask(NEW), f"refused: {NEW} is the champion already"),
        (ask("r4p-none"), "refused: no trained model is called 'r4p-none'"),
        (ask(OLD, alias="shadow", holder=""), f"refused: {OLD} passed a gate with weaker rules"),
    ],
    ids=[
        "another champion",
        "a champion since",
        "no canary",
        "replaced meanwhile",
        "gate failed",
        "champion already",
        "gone",
        "weaker rules",
    ],
)
def test_a_refusal_is_one_line_and_changes_nothing(database, handler, job, report):
    save_models(database)
    before = observe(database)
    carry_out(database, handler, job)
    assert read_report(database).startswith(report)
    assert "\n" not in read_report(database)
    assert observe(database) == before
