"""A trained model from its run's folder to the champion of two servers, and back; on a real vLLM and database."""

from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import update

from app.db.session import transaction
from app.db.store.issues import evaluations
from app.db.tables.schema import models as models_table
from app.jobs.job import OF_THE_APP
from app.jobs.learning_jobs import UnloadAdapters
from app.learning.model_serving import UNUSED_AFTER, Alias, ModelState
from app.registry import promotion
from app.registry.promotion import NotPromoted
from app.settings import EngineSettings, QueueSettings
from model.adapters import adapter_server
from model.prompts import prompt_template
from tests.app.registry.measured_runs import MARKS, find_champion, find_state, forget_adapter
from tests.builders.job_attempts import carry_out
from tests.builders.models import tiny_adapters
from tests.worker.judging import waiting_issues
from worker.components import Components
from worker.judging.verify import VerifyGroupHandler
from worker.learning.unload_adapters import unload_adapters

pytestmark = MARKS


def test_model_is_promoted_replaced_and_rolled_back(database, servers, names):
    first, second = names
    report = promotion.promote(database, servers, first, Alias.CHAMPION).report
    assert "2 servers answer as trained: " in report
    promotion.promote(database, servers, second, Alias.CHAMPION)
    assert find_champion(database) == second
    assert {first, second} <= set(adapter_server._fetch_models(servers[0])), (
        "the one before stays loaded"
    )
    assert find_state(database, first) is ModelState.RETIRED
    assert promotion.roll_back(database, servers, Alias.CHAMPION, "worse") == (second, first)
    assert find_champion(database) == first
    with pytest.raises(NotPromoted, match=f"{second} was rejected"):
        promotion.promote(database, servers, second, Alias.CHAMPION)
    assert promotion.roll_back(database, servers, Alias.CHAMPION, "too") == (first, None)
    with pytest.raises(NotPromoted, match="no model is the champion"):
        promotion.roll_back(database, servers, Alias.CHAMPION, "again")


def test_unused_adapters_are_unloaded_and_foreign_ones_stay(database, servers, names, runs):
    first, second = names
    for name in names:
        promotion.promote(database, servers, name, Alias.CHAMPION)
    foreign = replace(tiny_adapters.name_adapter(runs[1]), name="own")
    adapter_server.load_on_replica(servers[0], foreign)
    promotion.roll_back(database, servers, Alias.CHAMPION, "worse")
    urls = [one.url for one in servers]
    settings = EngineSettings(engine_url=urls[0], engine_urls=urls)
    handler = partial(unload_adapters, lambda: settings)

    def list_loaded():
        carry_out(database, handler, UnloadAdapters(OF_THE_APP))
        return set(adapter_server._fetch_models(servers[0])) - {tiny_adapters.BASE}

    try:
        assert list_loaded() == {first, second, "own"}, "a verdict may still ask it"
        with transaction(database) as connection:
            long_ago = models_table.c.changed_at - UNUSED_AFTER
            connection.execute(update(models_table).values(changed_at=long_ago))
        assert list_loaded() == {first, "own"}
        assert list_loaded() == {first, "own"}
    finally:
        adapter_server.unload_adapter(servers[0], foreign.name)


def test_worker_asks_the_champion_after_a_server_restart(
    database, servers, names, runs, monkeypatch
):
    """The champion is asked with the template of its training, and the base with the bot's."""
    copy = runs[0] / "prompt.j2"
    copy.write_text(prompt_template.load("r4p_appendix_b").source)
    monkeypatch.setenv("R4P_ENGINE_URL", servers[1].url)
    monkeypatch.setenv("R4P_ENGINE_URLS", ",".join(one.url for one in servers))
    monkeypatch.setenv("R4P_MODEL", tiny_adapters.BASE)
    parts = Components(database, QueueSettings())
    handler = VerifyGroupHandler(lambda: parts.judge_setup, parts.adapter_models)
    wait = waiting_issues.issues(database)

    def judge(number):
        job = wait(number)
        carry_out(database, handler, job)
        with transaction(database) as connection:
            return evaluations.load(connection, job.evaluation).verdict["engine"]["model"]

    assert judge(3) == tiny_adapters.BASE
    promotion.promote(database, servers, names[0], Alias.CHAMPION)
    assert judge(4) == names[0]
    copy.unlink()  # other tests share the run
    asked = parts.judge_setup, parts.judge_setups[names[0]]
    assert [setup.verifier.engine.prompt_fingerprint for setup in asked] == [
        prompt_template.load(name).fingerprint for name in ("r4p_group", "r4p_appendix_b")
    ]
    forget_adapter(servers, names[0])
    assert judge(5) == names[0]
    promotion.roll_back(database, servers, Alias.CHAMPION, "worse")
    assert judge(6) == tiny_adapters.BASE
    for setup in (parts.judge_setup, *parts.judge_setups.values()):
        setup.verifier._engine.close()


def test_rollback_waits_for_no_server(database, servers, names, dead):
    first, second = names
    for name in names:
        promotion.promote(database, servers, name, Alias.CHAMPION)
    forget_adapter(servers, first)
    assert promotion.roll_back(database, [dead, servers[0]], Alias.CHAMPION, "worse")[1] == first
    assert first in adapter_server._fetch_models(servers[0])
    assert find_state(database, second) is ModelState.REJECTED
