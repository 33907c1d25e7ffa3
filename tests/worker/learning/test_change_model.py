"""A request from the Models page changes a role once, or is refused in one line that the page shows."""

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
from tests.builders.job_attempts import carry_out
from worker.learning.change_model import ChangeModelHandler

pytestmark = pytest.mark.services

OLD, NEW, FAILED = "r4p-20261101-0badcafe", "r4p-20261102-00c0ffee", "r4p-20261103-0000dead"
PASSED = {"outcome": "passed", "measured": {"champion": NEW}, "rules": None}
NOWHERE = "http://127.0.0.1:9/v1"


def save_models(database):
    """Two champions, one after the other, a canary, and a candidate whose gate failed."""
    with transaction(database) as connection:
        for number, name in enumerate((OLD, NEW, FAILED)):
            adapter = Adapter(name, "base", Path("/nowhere"), str(number) * 64, "r4p")
            gate = {"outcome": "failed", "why": "worse"} if name == FAILED else PASSED
            models.register(
                connection, NewModel(adapter, Path("/"), ModelState.CANDIDATE, "", gate)
            )
        for name in (OLD, NEW):
            models.promote(connection, name, Alias.CHAMPION, "for these tests")


@pytest.fixture
def handler():
    settings = EngineSettings(engine_url=NOWHERE, model="base", verifier="r4p")
    return ChangeModelHandler(lambda: settings, Rules)


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


def test_who_asked_stays_in_the_history(database, handler):
    save_models(database)
    carry_out(database, handler, ask())
    with transaction(database) as connection:
        newest = models.list_moves(connection)[0]
    assert newest.why.startswith("rolled back: ops asked for it on the Models page (request ")
    assert read_report(database) == f"{NEW} is rejected; {OLD} judges"


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
