"""`r4p models`: tells and does the same, on the servers of the settings."""

import json

import pytest
from typer.testing import CliRunner

from app.db.session import transaction
from app.db.store.models import models
from app.learning.model_serving import Alias
from app.operator.models_cli import main
from app.registry import promotion
from app.registry.promotion import NotPromoted
from app.settings import EngineSettings
from tests.app.registry.measured_runs import MARKS, find_champion, write_measurement
from tests.builders.models import tiny_adapters
from training.gate.gate_decision import GateOutcome

pytestmark = MARKS


def test_models_commands_register_promote_show_and_roll_back(
    database_url, database, servers, runs, monkeypatch
):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    monkeypatch.setenv("R4P_ENGINE_URL", servers[0].url)
    monkeypatch.setenv("R4P_MODEL", tiny_adapters.BASE)
    monkeypatch.setenv("COLUMNS", "200")

    def run_command(*arguments, code=0):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == code, result.output
        return result.output

    name = run_command("register", str(runs[0])).split()[0]
    assert f"{name} is the canary now: 1 server answer" in run_command(
        "promote", name, "--to", "canary", "--share", "0.25"
    )
    assert "canary (25%)" in run_command("list")
    run_command("promote", name, "--to", "canary", "--share", "0.5")
    assert "canary (50%)" in run_command("list")
    output = run_command("promote", name)
    assert f"{name} is the champion now" in output
    assert "benchmarks" in output
    shown = json.loads(run_command("show", name, "--json"))
    assert (shown["state"], shown["gate"]["outcome"]) == ("champion", "passed")
    assert [move["alias"] for move in shown["moves"]] == ["champion", "canary", "canary"]
    assert "yes  reward: 0.1" in run_command("show", name)
    assert f"{name} is rejected; the model of the settings judges" in run_command(
        "rollback", "--why", "x"
    )
    assert json.loads(run_command("list", "--json"))[-1]["why"] == "x"
    assert "no trained model is called 'r4p-0'" in run_command("promote", "r4p-0", code=1)
    assert "was rejected" in run_command("promote", name, code=1)
    monkeypatch.delenv("R4P_MODEL")
    assert "set R4P_MODEL" in run_command("register", str(runs[0]), code=2)


def test_model_of_a_laxer_gate_needs_an_option(database_url, names, dead, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    monkeypatch.setenv("R4P_ENGINE_URL", dead.url)
    monkeypatch.setenv("R4P_GATE_MARGIN", "0.01")
    refused = CliRunner().invoke(main, ["promote", names[0]])
    assert refused.exit_code == 1
    assert "weaker rules than the present ones (margin 0.02 instead of 0.01)" in refused.stderr
    let = CliRunner().invoke(main, ["promote", names[0], "--by-laxer-rules"])
    assert "no engine answers" in let.stderr


def test_earlier_decisions_are_shown(database_url, names, run, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    write_measurement(run, tiny_adapters.BASE, outcome=GateOutcome.TOO_FEW)
    for words in (["register", str(run), "--base", tiny_adapters.BASE], ["show", names[0]]):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
    assert "earlier  the gate: passed; passed every check" in done.output


def test_rollback_needs_no_engine(database_url, database, names, monkeypatch):
    with transaction(database) as connection:
        for name in names:
            models.promote(connection, name, Alias.CHAMPION, "better")
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    monkeypatch.delenv("R4P_ENGINE_URL", raising=False)
    monkeypatch.delenv("R4P_ENGINE_URLS", raising=False)
    result = CliRunner().invoke(main, ["rollback"])
    assert result.output == f"{names[1]} is rejected; {names[0]} judges\n"
    assert find_champion(database) == names[0]


def test_replicas_are_those_of_the_settings():
    single = EngineSettings(engine_url="http://a/v1")
    assert [server.url for server in promotion.list_replicas(single)] == ["http://a/v1"]
    several = EngineSettings(engine_url="http://a/v1", engine_urls="http://b/v1, http://c/v1")
    assert [server.url for server in promotion.list_replicas(several)] == [
        "http://b/v1",
        "http://c/v1",
    ]
    without = [
        EngineSettings(engine_url="http://a/v1", verifier=name)
        for name in ("consensus", "reward-model")
    ]
    for none in (EngineSettings(), *without):
        with pytest.raises(NotPromoted, match="set R4P_ENGINE_URL to a vLLM"):
            promotion.list_replicas(none)
