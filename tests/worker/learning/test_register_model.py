"""What a training made is registered; whatever keeps it from being promoted, who judged goes on judging."""

import json
import struct
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import pytest

from app.db.session import transaction
from app.db.store.models import models
from app.db.store.models.models import NewModel
from app.learning.gate_rules import Rules
from app.learning.model_serving import Adapter, Alias, ModelState
from app.learning.training_plan import LauncherKind, Training, TrainingStage, TrainingState
from app.settings import EngineSettings
from model.adapters import adapter_files
from model.adapters.adapter_probe import Passage, Probe
from tests.builders.job_attempts import carry_out
from tests.worker.learning import trainings
from tests.worker.learning.trainings import JOB, last
from worker.learning.register_model import Registrar
from worker.learning.stages import TrainingEnded
from worker.queue.context import Context

pytestmark = pytest.mark.services

CHAMPION = "r4p-20261101-0badcafe"
LEARNT_FROM = "d" * 64
NOWHERE = "http://127.0.0.1:9/v1"
CONFIG = {"peft_type": "LORA", "bias": "none", "r": 1, "target_modules": ["q_proj"]}
NAME = "base_model.model.model.layers.0.self_attn.q_proj.lora_{}.weight"


@pytest.fixture
def champion(database):
    with transaction(database) as connection:
        adapter = Adapter(CHAMPION, "base", Path("/nowhere"), "0" * 64, "r4p")
        models.register(connection, NewModel(adapter, Path("/"), ModelState.CANDIDATE, "", {}))
        models.promote(connection, CHAMPION, Alias.CHAMPION, "for these tests")


@pytest.fixture
def training(tmp_path):
    """One that is done, and measured by the gate with an outcome."""

    def build(outcome="passed", why="passed every check", *, by_outcomes=True, beside=CHAMPION):
        run = tmp_path / "000001" / "run"
        adapter = run / "adapter"
        adapter.mkdir(parents=True)
        (adapter / adapter_files.CONFIG).write_text(json.dumps(CONFIG))
        (adapter / adapter_files.WEIGHTS).write_bytes(weights())
        sha256 = adapter_files.hash_adapter(adapter)
        passage = Passage((1, 2), (3,), (-1.0,), (-0.5,))
        (run / "probe.json").write_text(json.dumps(asdict(Probe(sha256, (passage,)))))
        write_result(run, sha256)
        write_gate(run, outcome, why, by_outcomes=by_outcomes, beside=beside)
        folder, launcher = tmp_path / "000001", LauncherKind.SUBPROCESS
        return Training(
            1, TrainingState.RUNNING, TrainingStage.REGISTER, "", "plan", folder, launcher
        )

    return build


def write_result(run, sha256):
    """As the trainer tells it."""
    result = {"status": "finished", "adapter_sha256": sha256, "ended_at": "2026-11-22T12:00:00Z"}
    (run / "result.json").write_text(json.dumps(result))
    (run / "dataset.json").write_text(json.dumps({"digest": LEARNT_FROM}))


def write_gate(
    run, outcome="passed", why="passed every check", *, by_outcomes=True, beside=CHAMPION
):
    """As `r4p train evaluate` leaves it."""
    sha256 = json.loads((run / "result.json").read_text())["adapter_sha256"]
    about = {"adapter": sha256, "learnt_from": LEARNT_FROM, "champion": beside, "verifier": "r4p"}
    gate = {"outcome": outcome, "why": why, "by_outcomes": by_outcomes, "measured": about}
    (run / "gate.json").write_text(json.dumps(gate | {"rules": asdict(Rules())}))
    (run / "evaluation.json").write_text(json.dumps({"measured": about}))


def weights():
    """A safetensors file of two small matrices."""
    header, data = {}, b""
    for letter in "AB":
        values = struct.pack("<2f", 0.5, 0.25)
        shape = [1, 2] if letter == "A" else [2, 1]
        where = [len(data), len(data) + len(values)]
        header[NAME.format(letter)] = {"dtype": "F32", "shape": shape, "data_offsets": where}
        data += values
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def registrar(promote="off", **settings):
    return Registrar(promote, partial(EngineSettings, **{"model": "base", **settings}))


@pytest.fixture
def context(database):
    """One whose job is nobody else's."""

    class Unfenced(Context):
        def fence(self, connection):
            """Nobody else has it."""

    return Unfenced(database, None, None, lambda: False)


def judges(database):
    with transaction(database) as connection:
        return models.find_alias_holder(connection, Alias.CHAMPION).adapter.name


def test_a_model_that_passed_waits_for_a_person_unless_told_otherwise(
    context, database, champion, training
):
    state, why, name = registrar()(context, training())
    assert (state, why) == (
        TrainingState.FINISHED,
        f"a candidate; to promote it: r4p models promote {name}",
    )
    assert judges(database) == CHAMPION


def test_a_model_with_too_few_issues_is_told_what_to_do_and_not_to_promote(
    context, champion, training
):
    made = training("too few", "outcomes: issues: 12; 30 are needed to decide by it")
    state, why, _ = registrar()(context, made)
    assert state is TrainingState.FINISHED
    assert why.startswith("a candidate that can't judge yet (too few: outcomes: issues: 12; ")
    assert f"r4p train evaluate --run {made.run} --learnt-from" in why
    assert why.endswith(f"r4p models register {made.run}")
    assert "promote" not in why


def test_a_model_measured_again_can_be_promoted(context, database, champion, training):
    made = training("too few", "outcomes: issues: 12")
    _, _, name = registrar()(context, made)
    write_gate(made.run, "passed", "passed")
    assert registrar()(context, made)[1].endswith(f"r4p models promote {name}")
    with transaction(database) as connection:
        assert models.find_by_name(connection, name).why == "gate: passed, measured 2 times; passed"


def test_a_model_registered_twice_is_the_same_model(context, training):
    made = training()
    assert registrar()(context, made) == registrar()(context, made)


def test_a_model_that_the_gate_refused_is_kept_as_rejected(context, database, champion, training):
    state, why, name = registrar("champion")(context, training("failed", "reward no worse: -0.1"))
    assert state is TrainingState.REJECTED
    assert "reward no worse: -0.1" in why
    with transaction(database) as connection:
        assert models.find_by_name(connection, name).state is ModelState.REJECTED
    assert judges(database) == CHAMPION


@pytest.mark.parametrize("alias", ["shadow", "canary", "champion"])
@pytest.mark.parametrize(
    ("outcome", "settings", "reason"),
    [
        ("passed", {"engine_url": NOWHERE}, "nothing has changed"),
        ("passed", {"engine_urls": (NOWHERE, NOWHERE)}, "nothing has changed"),
        ("passed", {"engine_url": None}, "set R4P_ENGINE_URL"),
        ("too few", {"engine_url": NOWHERE}, "did not pass the gate (too few"),
    ],
    ids=["server down", "both replicas down", "no server", "too few issues"],
)
def test_a_failed_promotion_leaves_the_champion_in_place(
    context, database, champion, training, alias, outcome, settings, reason
):
    state, why, name = registrar(alias, **settings)(context, training(outcome))
    assert state is TrainingState.FINISHED
    assert why.startswith("not promoted, the present model still judges: ")
    assert reason in why
    assert judges(database) == CHAMPION
    with transaction(database) as connection:
        assert models.find_by_name(connection, name).state is ModelState.CANDIDATE


@pytest.mark.parametrize("alias", ["canary", "champion"])
def test_a_model_that_never_met_the_champion_does_not_come_in_its_place(
    context, database, champion, training, alias
):
    made = training(beside="r4p-20261001-0ldc4a3e")
    _, why, _ = registrar(alias, engine_url=NOWHERE)(context, made)
    assert f"compared with r4p-20261001-0ldc4a3e, and {CHAMPION} judges now" in why
    assert f"r4p train evaluate --champion {CHAMPION}" in why
    assert judges(database) == CHAMPION


def test_a_gate_by_laxer_rules_lets_no_program_promote(context, database, champion, training):
    made = training()
    strict = replace(registrar("champion", engine_url=NOWHERE), rules=Rules(least_issues=60))
    _, why, _ = strict(context, made)
    assert "weaker rules than the present ones (least_issues 30 instead of 60)" in why
    assert judges(database) == CHAMPION


def test_weights_that_are_not_finite_never_come_into_use(context, database, champion, training):
    made = training()
    path = made.run / "adapter" / adapter_files.WEIGHTS
    path.write_bytes(path.read_bytes()[:-4] + struct.pack("<f", float("nan")))
    sha256 = adapter_files.hash_adapter(path.parent)
    write_result(made.run, sha256)
    write_gate(made.run)
    probe = json.loads((made.run / "probe.json").read_text())
    (made.run / "probe.json").write_text(json.dumps(probe | {"adapter": sha256}))
    _, why, _ = registrar("champion", engine_url=NOWHERE)(context, made)
    assert "is rejected" in why
    assert "not finite" in why
    assert judges(database) == CHAMPION


def test_an_adapter_that_is_not_what_was_trained_is_not_registered(context, champion, training):
    made = training()
    (made.run / "adapter" / adapter_files.CONFIG).write_text("{}")
    with pytest.raises(TrainingEnded, match=r"not registered: .* train it again"):
        registrar()(context, made)


def test_without_the_name_of_the_base_nothing_is_lost(context, training):
    with pytest.raises(TrainingEnded, match=r"set R4P_MODEL .* then r4p models register"):
        registrar(model=None)(context, training())


@pytest.mark.parametrize("has_champion", [True, False])
def test_a_candidate_is_measured_beside_the_champion_or_the_base(context, request, has_champion):
    champion = f" --champion {CHAMPION}" if has_champion else ""
    if has_champion:
        request.getfixturevalue("champion")
    arguments = registrar(engine_url=NOWHERE).build_comparison_arguments(context)
    assert " ".join(arguments) == (f"--engine-url {NOWHERE} --model base --verifier r4p{champion}")
    assert registrar(engine_url=None).build_comparison_arguments(context) == ()


def test_a_training_ends_as_its_registrar_says(database, database_url, champion, training):
    made = training()
    parent = made.folder.parent
    handler = trainings.handler(parent, database_url, registrar=registrar("champion"))
    carry_out(database, handler, JOB)
    found = last(database)
    assert found.state is TrainingState.FINISHED
    assert found.model.startswith("r4p-")
    assert judges(database) == CHAMPION
