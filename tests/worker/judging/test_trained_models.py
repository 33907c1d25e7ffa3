"""Trained models at work: champion, canary and shadow, on a real database; the engines answer from scripts."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, update
from typer.testing import CliRunner

from app.db.session import transaction
from app.db.store.issues import evaluations
from app.db.store.models import models
from app.db.store.models.canary_statistics import Agreement, measure_agreement, read_statistics
from app.db.store.models.models import NewModel
from app.db.tables.schema import evaluation_candidates, outcome_events, outcomes, shadow_verdicts
from app.db.tables.schema import evaluations as evaluation_table
from app.db.tables.schema import models as model_table
from app.learning.canary import CanaryLimits
from app.learning.model_serving import Adapter, Alias, ModelState
from app.operator.models_cli import main
from model import catalog
from model.engines.scripted import ScriptedEngine, ScriptLine
from model.errors import EngineDown
from tests.builders.job_attempts import carry_out
from tests.worker.judging import waiting_issues
from tests.worker.judging.waiting_issues import GOOD, REPOSITORY
from worker.judging.trained_models import JudgeSetup, TrainedModels, check_canary
from worker.judging.verify import VerifyGroupHandler

pytestmark = pytest.mark.services
CHAMPION, CANARY, SHADOW = (f"r4p-20261122-{number:08x}" for number in range(3))


class Named(ScriptedEngine):
    """Answers from a script under the name of a model."""

    def __init__(self, model):
        super().__init__([ScriptLine(box_containing=(GOOD,), repeat=True)])
        self.named = model

    @property
    def model(self):
        return self.named


def build_setup(model="base"):
    return JudgeSetup("r4p", catalog.load_verifier("r4p", Named(model)))


@pytest.fixture
def issue(database):
    """Has an issue with two rivals wait to be judged, as often as it is called; returns the job."""
    return waiting_issues.issues(database)


@pytest.fixture
def line_up(database):
    """Gives models their aliases."""

    def give(**aliases):
        with transaction(database) as connection:
            for alias, name in aliases.items():
                adapter = Adapter(name, "base", Path("/nowhere"), name[-8:] * 8, "r4p")
                new = NewModel(adapter, Path("/nowhere"), ModelState.CANDIDATE, "passed", {})
                models.register(connection, new)
                share = 1.0 if alias == "canary" else None
                models.promote(connection, name, Alias(alias), "for the test", share)

    return give


def judge(database, job, *, down=(), own=build_setup):
    """The document, after an attempt with servers that are down for some models."""

    def serve(adapter):
        if adapter.name in down:
            raise EngineDown(f"no server serves {adapter.name}")
        return build_setup(adapter.name)

    carry_out(database, VerifyGroupHandler(own, TrainedModels("r4p", serve)), job)
    with transaction(database) as connection:
        return evaluations.load(connection, job.evaluation).verdict


def state(database, name):
    with transaction(database) as connection:
        found = models.find_by_name(connection, name)
        return found.state, found.why


def shadows(database):
    with transaction(database) as connection:
        return connection.scalars(select(shadow_verdicts.c.verdict)).all()


def test_without_a_champion_the_model_of_the_settings_judges(database, issue):
    assert judge(database, issue())["engine"]["model"] == "base"


def test_the_verdict_names_the_champion(database, issue, line_up):
    def never():
        pytest.fail("the model of the settings need not be loaded")

    line_up(champion=CHAMPION)
    document = judge(database, issue(), own=never)
    assert document["engine"]["model"] == CHAMPION
    assert [one["verdict"] for one in document["patches"]] == ["correct", "incorrect"]


def test_an_adapter_for_another_verifier_is_left_alone(database, issue, line_up):
    line_up(champion=CHAMPION)
    trained = TrainedModels("yes-no", lambda _adapter: pytest.fail("it answers another prompt"))
    job = issue()
    carry_out(database, VerifyGroupHandler(build_setup, trained), job)
    with transaction(database) as connection:
        assert evaluations.load(connection, job.evaluation).verdict["engine"]["model"] == "base"


def test_a_canary_judges_its_share(database, issue, line_up):
    line_up(champion=CHAMPION, canary=CANARY)
    assert judge(database, issue())["engine"]["model"] == CANARY
    with transaction(database) as connection:
        connection.execute(update(model_table).values(share=0.0))
    assert judge(database, issue(4))["engine"]["model"] == CHAMPION


def test_a_canary_that_cannot_be_served_is_taken_out_and_the_champion_judges(
    database, issue, line_up
):
    line_up(champion=CHAMPION, canary=CANARY)
    assert judge(database, issue(), down=[CANARY])["engine"]["model"] == CHAMPION
    assert state(database, CANARY) == (
        ModelState.REJECTED,
        f"it can't be served: no server serves {CANARY}",
    )


def test_when_nobody_can_be_served_nobody_is_blamed(database, issue, line_up):
    line_up(champion=CHAMPION, canary=CANARY)
    with pytest.raises(EngineDown, match=CHAMPION):
        judge(database, issue(), down=[CANARY, CHAMPION])
    assert state(database, CANARY)[0] is ModelState.CANARY


def test_a_shadow_is_logged_and_not_shown(database, issue, line_up):
    line_up(champion=CHAMPION, shadow=SHADOW)
    document = judge(database, issue())
    (kept,) = shadows(database)
    assert (document["engine"]["model"], kept["engine"]["model"]) == (CHAMPION, SHADOW)
    assert SHADOW not in json.dumps(document)
    with transaction(database) as connection:
        assert measure_agreement(connection, SHADOW) == Agreement(judged=1, patches=2, alike=2)
        assert measure_agreement(connection, CHAMPION) == Agreement(0, 0, 0)


def test_a_shadow_that_fails_changes_nothing(database, issue, line_up, caplog):
    line_up(shadow=SHADOW)
    assert judge(database, issue(), down=[SHADOW])["engine"]["model"] == "base"
    assert shadows(database) == []
    assert f"shadow {SHADOW} failed on" in caplog.text


def save_spoken_verdict(connection, number, model, *, valid, overturned=False):
    """An evaluation that a model spoke in, of which so many of ten votes could be read."""
    document = {
        "engine": {"model": model},
        "votes": {"asked": 10, "valid": valid},
        "patches": [{"verdict": "correct"}, {"verdict": "not_judged"}],
        "seconds": {"total": 2.5},
    }
    newest = connection.scalar(select(func.max(evaluation_table.c.id)))
    row = {"verdict": document, "state": "published", "verified_at": datetime.now(UTC)}
    connection.execute(update(evaluation_table).where(evaluation_table.c.id == newest).values(row))
    belongs = evaluation_candidates.c.evaluation_id == newest
    connection.execute(update(evaluation_candidates).where(belongs).values(verdict="correct"))
    if overturned:
        event = {"source": f"r:{number}", "kind": "pull_reverted", "occurred_at": datetime.now(UTC)}
        adding = insert(outcome_events).values(repository_id=REPOSITORY, **event)
        identity = connection.scalar(adding.returning(outcome_events.c.id))
        row = {"kind": "reverted", "evaluation_id": newest, "event_id": identity}
        row |= {"pull_number": number * 10, "rule_version": 1}
        connection.execute(insert(outcomes).values(repository_id=REPOSITORY, **row))


def test_the_statistics_of_a_canary_begin_with_its_alias(database, issue, line_up):
    line_up(canary=CANARY)
    with transaction(database) as connection:
        began = models.find_by_name(connection, CANARY).changed_at
    for number, model in ((3, CANARY), (4, "base"), (5, CANARY)):
        issue(number)
        with transaction(database) as connection:
            save_spoken_verdict(connection, number, model, valid=4, overturned=number == 5)
    with transaction(database) as connection:
        own, others = read_statistics(connection, CANARY, began)
        assert (own.judged, own.asked, own.valid) == (2, 20, 8)
        assert (own.patches, own.correct, own.overturned, own.seconds) == (2, 2, 1, 5.0)
        assert (others.judged, others.overturned) == (1, 0)
        later = read_statistics(connection, CANARY, began + timedelta(days=1))
        assert [one.judged for one in later] == [0, 0]


def test_the_command_shows_what_a_model_did(database, database_url, issue, line_up, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    monkeypatch.setenv("COLUMNS", "200")
    line_up(canary=CANARY, shadow=SHADOW)
    judge(database, issue())
    told = CliRunner().invoke(main, ["show", CANARY]).output
    assert "since  judged 1, asked 2, valid 2, patches 2, correct 1, overturned 0" in told
    shadow = json.loads(CliRunner().invoke(main, ["show", SHADOW, "--json"]).output)
    assert shadow["as_shadow"] == {"judged": 1, "patches": 2, "alike": 2}
    assert "since" not in shadow


def test_a_canary_whose_votes_cannot_be_read_is_taken_out(database, issue, line_up):
    line_up(champion=CHAMPION, canary=CANARY)
    adapter = Adapter(CANARY, "base", Path("/nowhere"), CANARY[-8:] * 8, "r4p")
    for number in (3, 4):
        issue(number)
        with transaction(database) as connection:
            save_spoken_verdict(connection, number, CANARY, valid=4)
    check_canary(database, adapter)
    assert state(database, CANARY)[0] is ModelState.CANARY, "twenty votes tell too little"
    check_canary(database, adapter, CanaryLimits(min_votes=20))
    assert state(database, CANARY) == (
        ModelState.REJECTED,
        "8 of its 20 votes are readable; the limit is 80%",
    )
    check_canary(database, adapter, CanaryLimits(min_votes=20))
    with transaction(database) as connection:
        assert models.load_line_up(connection).champion.name == CHAMPION
