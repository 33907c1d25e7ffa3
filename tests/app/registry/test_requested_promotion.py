"""An operator's request from the Models page promotes a model on real servers, and the history names the operator."""

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.queue import progress
from app.jobs.job import OF_THE_APP
from app.jobs.learning_jobs import ChangeModel
from app.learning.gate_rules import Rules
from app.settings import EngineSettings
from tests.app.registry.measured_runs import MARKS, find_champion
from tests.builders.job_attempts import carry_out
from tests.builders.models import tiny_adapters
from worker.learning.change_model import DONE_BEFORE, ChangeModelHandler

pytestmark = MARKS


def test_a_request_promotes_and_a_repeat_of_its_job_does_not(database, servers, names):
    urls = [server.url for server in servers]
    settings = EngineSettings(
        engine_url=urls[0], engine_urls=urls, model=tiny_adapters.BASE, verifier="r4p"
    )
    handler = ChangeModelHandler(lambda: settings, Rules)
    reports = []

    def run_twice(context, job):
        for _ in range(2):
            handler(context, job)
            with transaction(database) as connection:
                reports.append(progress.list_reports(connection, job.kind, 1)[0].progress)

    carry_out(database, run_twice, ChangeModel(OF_THE_APP, "a1", "ops", "champion", names[0], ""))
    assert find_champion(database) == names[0]
    assert reports == [f"{names[0]} is the champion now", DONE_BEFORE]
    with transaction(database) as connection:
        (move,) = models.list_moves(connection)
    assert "2 servers answer as trained: " in move.why
    assert "; ops asked for it on the Models page (request " in move.why
