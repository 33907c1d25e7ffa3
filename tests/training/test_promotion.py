"""A trained model from its run's folder to the champion of two servers, and back; on a real vLLM and database."""

import json
import socket
from contextlib import suppress
from dataclasses import asdict, replace

import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from app import promotion
from app.db.session import transaction
from app.db.store import evaluations, models
from app.db.store.models import UnknownModel
from app.db.tables import models as models_table
from app.jobs import OF_THE_APP
from app.learning_jobs import UnloadAdapters
from app.models_cli import main
from app.promotion import NotPromoted
from app.serving import UNUSED_AFTER, Alias, LineUp, State
from app.settings import EngineSettings, QueueSettings
from model.adapter_files import CONFIG, WEIGHTS
from model.engines import adapters
from model.engines.adapters import Replica
from model.errors import BadAdapter, EngineError
from tests.training import adapted
from tests.worker import awaiting
from tests.worker.attempts import carry_out
from training.gate import Finding, Gate, Outcome, Rules
from worker.parts import Parts
from worker.unload import UnloadAdaptersHandler
from worker.verify import VerifyGroupHandler

pytestmark = [
    pytest.mark.services,
    pytest.mark.model,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore"),  # torch's and PEFT's own
]


def finished(run, *, seed=0, outcome=Outcome.PASSED):
    """A run's folder as trainer and gate leave it."""
    probe = adapted.trained(run, seed=seed)
    result = {"schema": "r4p.run/1", "status": "finished", "adapter_sha256": probe.adapter}
    gate = Gate(outcome, (Finding("reward", outcome is Outcome.PASSED, "0.1"),), Rules())
    for name, document in (("result", result), ("gate", gate.document())):
        (run / f"{name}.json").write_text(json.dumps(document))
    return measured(run, adapted.BASE)


def measured(run, champion):
    """A run that was measured beside who was champion."""
    evaluation = {"schema": "r4p.evaluation/1", "verifier": "r4p", "compared": []}
    (run / "evaluation.json").write_text(json.dumps(evaluation | {"champion": champion}))
    return run


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [finished(folder / str(seed), seed=seed) for seed in range(2)]


@pytest.fixture
def names(database, runs):
    """The first was measured beside the base, the second beside the first."""
    with transaction(database) as connection:
        first = promotion.register_run(connection, runs[0], adapted.BASE)
        return [first, promotion.register_run(connection, measured(runs[1], first), adapted.BASE)]


@pytest.fixture
def servers(vllm, names):
    """One server by two addresses; afterwards it serves its base alone."""
    both = (Replica(vllm.url), Replica(vllm.url.replace("127.0.0.1", "localhost")))
    yield both
    for name in names:
        restarted(both, name)


@pytest.fixture
def dead():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield Replica(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")


def restarted(servers, name):
    """As after a restart, which forgets an adapter."""
    with suppress(EngineError):
        adapters.unload(servers[0], name)


def champion(database):
    with transaction(database) as connection:
        found = models.line_up(connection).champion
    return found.name if found else None


def state(database, name):
    with transaction(database) as connection:
        return models.named(connection, name).state


def test_a_run_is_registered_once_under_a_name_of_its_bytes(database, names, runs):
    with transaction(database) as connection:
        again = promotion.register_run(connection, runs[0], adapted.BASE)
        kept = models.named(connection, names[0])
    assert again == names[0]
    assert names[0].endswith(kept.adapter.sha256[:8])
    assert (kept.state, kept.why) == (State.CANDIDATE, "gate: passed; passed every check")
    assert kept.adapter.directory == runs[0] / "adapter"


def test_promoted_served_replaced_and_rolled_back(database, servers, names):
    first, second = names
    said = promotion.promote(database, servers, first, Alias.CHAMPION).said
    assert "2 servers answer as trained: " in said
    promotion.promote(database, servers, second, Alias.CHAMPION)
    assert champion(database) == second
    assert {first, second} <= set(adapters._cards(servers[0])), "the one before stays loaded"
    assert state(database, first) is State.RETIRED
    assert promotion.roll_back(database, servers, Alias.CHAMPION, "worse") == (second, first)
    assert champion(database) == first
    with pytest.raises(NotPromoted, match=f"{second} was rejected"):
        promotion.promote(database, servers, second, Alias.CHAMPION)
    assert promotion.roll_back(database, servers, Alias.CHAMPION, "too") == (first, None)
    with pytest.raises(NotPromoted, match="nobody is the champion"):
        promotion.roll_back(database, servers, Alias.CHAMPION, "again")


def test_what_nobody_uses_any_more_leaves_the_servers_and_an_operators_own_stays(
    database, servers, names, runs
):
    first, second = names
    for name in names:
        promotion.promote(database, servers, name, Alias.CHAMPION)
    own = replace(adapted.servable(runs[1]), name="own")
    adapters.bring(servers[0], own)
    promotion.roll_back(database, servers, Alias.CHAMPION, "worse")
    urls = [one.url for one in servers]
    handler = UnloadAdaptersHandler(lambda: EngineSettings(engine_urls=urls))

    def left():
        carry_out(database, handler, UnloadAdapters(OF_THE_APP))
        return set(adapters._cards(servers[0])) - {adapted.BASE}

    try:
        assert left() == {first, second, "own"}, "a verdict may still ask it"
        with transaction(database) as connection:
            long_ago = models_table.c.changed_at - UNUSED_AFTER
            connection.execute(update(models_table).values(changed_at=long_ago))
        assert left() == {first, "own"}
        assert left() == {first, "own"}
    finally:
        adapters.unload(servers[0], own.name)


def test_with_one_server_down_nothing_moves_and_the_champion_goes_on(
    database, servers, names, dead
):
    first, second = names
    promotion.promote(database, servers, first, Alias.CHAMPION)
    with pytest.raises(NotPromoted, match=f"nothing has changed: no engine answers at {dead.url}"):
        promotion.promote(database, [servers[0], dead], second, Alias.CHAMPION)
    assert champion(database) == first
    assert state(database, second) is State.CANDIDATE
    assert set(adapters._cards(servers[0])) == {adapted.BASE, first}


def test_the_worker_asks_the_champion_also_after_its_server_was_started_anew(
    database, servers, names, monkeypatch
):
    monkeypatch.setenv("R4P_ENGINE_URL", servers[1].url)
    monkeypatch.setenv("R4P_ENGINE_URLS", ",".join(one.url for one in servers))
    monkeypatch.setenv("R4P_MODEL", adapted.BASE)
    parts = Parts(database, QueueSettings())
    handler = VerifyGroupHandler(lambda: parts.bench, parts.trained)
    wait = awaiting.issues(database)

    def judge(number):
        job = wait(number)
        carry_out(database, handler, job)
        with transaction(database) as connection:
            return evaluations.load(connection, job.evaluation).verdict["engine"]["model"]

    assert judge(3) == adapted.BASE
    promotion.promote(database, servers, names[0], Alias.CHAMPION)
    assert judge(4) == names[0]
    restarted(servers, names[0])
    assert judge(5) == names[0]
    promotion.roll_back(database, servers, Alias.CHAMPION, "worse")
    assert judge(6) == adapted.BASE
    for bench in (parts.bench, *parts.benches.values()):
        bench.verifier._engine.close()


def test_a_rollback_waits_for_no_server(database, servers, names, dead):
    first, second = names
    for name in names:
        promotion.promote(database, servers, name, Alias.CHAMPION)
    restarted(servers, first)
    assert promotion.roll_back(database, [dead, servers[0]], Alias.CHAMPION, "worse")[1] == first
    assert first in adapters._cards(servers[0])
    assert state(database, second) is State.REJECTED


def test_an_adapter_that_changed_on_disk_is_rejected_for_good(
    database, servers, names, tmp_path, caplog
):
    run = finished(tmp_path, seed=3)
    with transaction(database) as connection:
        name = promotion.register_run(connection, run, adapted.BASE)
    path = run / "adapter" / WEIGHTS
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(NotPromoted, match=f"{name} is rejected: the adapter in .* train it anew"):
        promotion.promote(database, servers, name, Alias.CHAMPION)
    assert state(database, name) is State.REJECTED
    with transaction(database) as connection, pytest.raises(BadAdapter, match="is not what"):
        promotion.register_run(connection, run, adapted.BASE)
    with transaction(database) as connection:
        adapter = models.named(connection, name).adapter
    assert promotion.bring_back(servers, adapter) == 0
    assert "restore it, or roll back" in caplog.text


def test_who_never_met_the_champion_is_not_promoted(database, names, runs, dead):
    first, second = names
    for alias in (Alias.CANARY, Alias.CHAMPION):
        said = f"{second} was measured beside {first}, and {adapted.BASE} judges now"
        with pytest.raises(NotPromoted, match=said):
            promotion.promote(database, [dead], second, alias)
    with pytest.raises(NotPromoted, match="no engine answers"):
        promotion.promote(database, [dead], second, Alias.SHADOW)
    with transaction(database) as connection:
        promotion.register_run(connection, measured(runs[1], adapted.BASE), adapted.BASE)
    with pytest.raises(NotPromoted, match="no engine answers"):
        promotion.promote(database, [dead], second, Alias.CHAMPION)


def test_who_met_only_the_champion_of_a_moment_ago_is_not_promoted(database, servers, names, runs):
    first, second = names

    class Meanwhile(tuple):
        """Servers that somebody else promotes a model on while this one is loaded."""

        __slots__ = ()

        def __iter__(self):
            with transaction(database) as connection:
                models.promote(connection, first, Alias.CHAMPION, "somebody was faster")
            return super().__iter__()

    with transaction(database) as connection:
        promotion.register_run(connection, measured(runs[1], adapted.BASE), adapted.BASE)
    with pytest.raises(NotPromoted, match=f"{first} judges now"):
        promotion.promote(database, Meanwhile(servers), second, Alias.CHAMPION)
    assert champion(database) == first
    assert state(database, second) is State.CANDIDATE


def test_a_shadow_whose_files_changed_leaves_its_place(database, tmp_path, dead):
    run = finished(tmp_path, seed=3)
    with transaction(database) as connection:
        name = promotion.register_run(connection, run, adapted.BASE)
        models.promote(connection, name, Alias.SHADOW, "to be seen")
    (run / "adapter" / CONFIG).write_text("{}")
    with pytest.raises(NotPromoted, match="is rejected"):
        promotion.promote(database, [dead], name, Alias.CHAMPION)
    with transaction(database) as connection:
        assert models.holder(connection, Alias.SHADOW) is None


def test_a_rollback_needs_no_engine(database_url, database, names, monkeypatch):
    with transaction(database) as connection:
        for name in names:
            models.promote(connection, name, Alias.CHAMPION, "better")
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    monkeypatch.delenv("R4P_ENGINE_URL", raising=False)
    monkeypatch.delenv("R4P_ENGINE_URLS", raising=False)
    result = CliRunner().invoke(main, ["rollback"])
    assert result.output == f"{names[1]} is rejected; {names[0]} judges\n"
    assert champion(database) == names[0]


def test_an_adapter_that_vllm_refuses_stays_a_candidate(database, servers, tmp_path):
    run = tmp_path
    finished(run, seed=4)
    config = run / "adapter" / CONFIG
    config.write_text(json.dumps(json.loads(config.read_text()) | {"r": 64}))
    sha256 = adapted.servable(run).sha256
    probe = promotion.adapter_files.probe_of(run / "probe.json")
    (run / "probe.json").write_text(json.dumps(asdict(replace(probe, adapter=sha256))))
    (run / "result.json").write_text(json.dumps({"adapter_sha256": sha256}))
    with transaction(database) as connection:
        name = promotion.register_run(connection, run, adapted.BASE)
    with pytest.raises(NotPromoted, match=r"nothing has changed: .*greater than max_lora_rank"):
        promotion.promote(database, servers, name, Alias.CHAMPION)
    assert (champion(database), state(database, name)) == (None, State.CANDIDATE)


@pytest.mark.parametrize(
    ("outcome", "kept"), [(Outcome.FAILED, State.REJECTED), (Outcome.TOO_FEW, State.CANDIDATE)]
)
def test_what_did_not_pass_the_gate_is_not_promoted(database, tmp_path, dead, outcome, kept):
    run = finished(tmp_path, outcome=outcome)
    with transaction(database) as connection:
        name = promotion.register_run(connection, run, adapted.BASE)
    assert state(database, name) is kept
    with pytest.raises(NotPromoted, match=r"rejected|did not pass the gate"):
        promotion.promote(database, [dead], name, Alias.CHAMPION)


def test_an_adapter_of_another_verifier_is_not_promoted(database, names, dead):
    with pytest.raises(NotPromoted, match="trained to answer as r4p, and R4P_VERIFIER is yes-no"):
        promotion.promote(database, [dead], names[0], Alias.CHAMPION, verifier="yes-no")


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), ("{", "is no JSON"), ("[]", "holds no object")],
)
def test_a_folder_that_holds_no_measured_run_is_told(database, tmp_path, content, said):
    if content:
        (tmp_path / "result.json").write_text(content)
    with transaction(database) as connection, pytest.raises(NotPromoted, match=said):
        promotion.register_run(connection, tmp_path, adapted.BASE)


def test_the_servers_are_those_of_the_settings():
    one = EngineSettings(engine_url="http://a/v1")
    assert [server.url for server in promotion.replicas(one)] == ["http://a/v1"]
    several = EngineSettings(engine_url="http://a/v1", engine_urls="http://b/v1, http://c/v1")
    assert [server.url for server in promotion.replicas(several)] == ["http://b/v1", "http://c/v1"]
    for none in (EngineSettings(), EngineSettings(engine_url="http://a/v1", verifier="consensus")):
        with pytest.raises(NotPromoted, match="set R4P_ENGINE_URL to a vLLM"):
            promotion.replicas(none)


def test_the_commands_tell_and_do_the_same(database_url, database, servers, runs, monkeypatch):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    monkeypatch.setenv("R4P_ENGINE_URL", servers[0].url)
    monkeypatch.setenv("R4P_MODEL", adapted.BASE)
    monkeypatch.setenv("COLUMNS", "200")

    def said(*arguments, code=0):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == code, result.output
        return result.output

    name = said("register", str(runs[0])).split()[0]
    assert f"{name} is the canary now: 1 server answer" in said(
        "promote", name, "--to", "canary", "--share", "0.25"
    )
    assert "canary (25%)" in said("list")
    said("promote", name, "--to", "canary", "--share", "0.5")
    assert "canary (50%)" in said("list")
    told = said("promote", name)
    assert f"{name} is the champion now" in told
    assert "benchmarks alone speak for it" in told
    shown = json.loads(said("show", name, "--json"))
    assert (shown["state"], shown["gate"]["outcome"]) == ("champion", "passed")
    assert [one["alias"] for one in shown["moves"]] == ["champion", "canary", "canary"]
    assert "yes  reward: 0.1" in said("show", name)
    assert f"{name} is rejected; the model of the settings judges" in said("rollback", "--why", "x")
    assert json.loads(said("list", "--json"))[-1]["why"] == "x"
    assert "no trained model is called 'r4p-0'" in said("promote", "r4p-0", code=1)
    assert "was rejected" in said("promote", name, code=1)
    monkeypatch.delenv("R4P_MODEL")
    assert "set R4P_MODEL" in said("register", str(runs[0]), code=2)


def test_an_unknown_name_is_told(database):
    with pytest.raises(UnknownModel, match="none yet"):
        promotion.promote(database, [], "r4p-0", Alias.CHAMPION)
    with transaction(database) as connection:
        assert models.line_up(connection) == LineUp()
