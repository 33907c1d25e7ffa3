"""A run is registered as a model, once; what is no measured run is not."""

import json
import os
import shutil

import pytest

from app.db.session import transaction
from app.db.store.models import models
from app.learning.model_serving import ModelState
from app.registry import registration
from app.registry.registration import NotRegistered
from model.adapters import adapter_files
from model.errors import BadAdapter
from tests.app.registry.measured_runs import (
    MARKS,
    write_finished_run,
    write_measurement,
    write_result,
)
from tests.builders.models import tiny_adapters
from training.gate.gate_decision import GateOutcome

pytestmark = MARKS


def test_run_is_registered_once_under_the_name_of_its_bytes(database, names, runs):
    with transaction(database) as connection:
        again = registration.register_run(connection, runs[0], tiny_adapters.BASE)
        model = models.find_by_name(connection, names[0])
    assert again == names[0]
    assert names[0].endswith(model.adapter.sha256[:8])
    assert (model.state, model.why) == (ModelState.CANDIDATE, "gate: passed; passed every check")
    assert model.adapter.directory == runs[0] / "adapter"


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "No such file"), ("{", "is not JSON"), ("[]", "holds no JSON object")],
)
def test_folder_without_a_measured_run_is_refused(database, tmp_path, content, message):
    if content:
        (tmp_path / "result.json").write_text(content)
    with transaction(database) as connection, pytest.raises(NotRegistered, match=message):
        registration.register_run(connection, tmp_path, tiny_adapters.BASE)


def test_copy_of_a_run_has_its_name(database, names, run):
    os.utime(run / "result.json", (0, 0))
    with transaction(database) as connection:
        assert registration.register_run(connection, run, tiny_adapters.BASE) == names[0]
    assert names[0].startswith("r4p-20261122-")


def test_rejected_run_stays_rejected(database, names, run):
    result = json.loads((run / "result.json").read_text())
    write_result(run, result["adapter_sha256"], ended_at="2026-11-25T00:00:00+00:00")
    with transaction(database) as connection:
        models.reject(connection, names[0], "rolled back")
        assert registration.register_run(connection, run, tiny_adapters.BASE) == names[0]
        assert models.find_by_name(connection, names[0]).state is ModelState.REJECTED
        assert len(models.list_models(connection)) == len(names)


def test_run_without_an_end_time_has_no_name(run):
    (run / "result.json").write_text("{}")
    with pytest.raises(BadAdapter, match="does not say when the run ended"):
        adapter_files.build_run_adapter_name(run, "0" * 64)


def read_refusal(database, run):
    """Why a run is not registered."""
    with transaction(database) as connection, pytest.raises(NotRegistered) as why:
        registration.register_run(connection, run, tiny_adapters.BASE)
    return str(why.value)


def test_decision_on_another_adapter_is_refused(database, runs, run):
    for name in ("gate.json", "evaluation.json"):
        shutil.copy(runs[1] / name, run / name)
    message = read_refusal(database, run)
    assert f"{run}/gate.json is about the adapter " in message
    assert message.endswith(f"measure it again: r4p train evaluate --run {run}")


def test_decision_on_another_dataset_is_refused(database, run):
    (run / "dataset.json").write_text(json.dumps({"digest": "f" * 64}))
    assert "is about the dataset dddddddddddd, but this run has ffffffffffff" in read_refusal(
        database, run
    )


def test_decision_without_its_subject_is_refused(database, run):
    (run / "gate.json").write_text(json.dumps({"outcome": "passed", "why": "passed every check"}))
    assert "is about the adapter None" in read_refusal(database, run)


def test_evaluation_of_another_measurement_is_refused(database, run):
    before = (run / "gate.json").read_text()
    write_measurement(run, "r4p-20261101-0badcafe")
    (run / "gate.json").write_text(before)  # as after a kill between the two
    assert "belongs to another measurement than" in read_refusal(database, run)


def test_measurement_with_another_verifier_is_refused(database, names, run):
    write_measurement(run, tiny_adapters.BASE, verifier="yes-no")
    message = read_refusal(database, run)
    assert f"{names[0]} is registered for r4p, but was measured with yes-no" in message
    assert message.endswith("--verifier r4p")


def test_repeated_measurements_are_counted(database, tmp_path):
    run = write_finished_run(tmp_path, seed=5, outcome=GateOutcome.TOO_FEW)
    write_measurement(run, tiny_adapters.BASE, outcome=GateOutcome.FAILED)
    write_measurement(run, tiny_adapters.BASE)
    with transaction(database) as connection:
        name = registration.register_run(connection, run, tiny_adapters.BASE)
        model = models.find_by_name(connection, name)
    assert model.why == "gate: passed, measured 3 times; passed every check"
    assert [one["outcome"] for one in model.gate["earlier"]] == ["too few", "failed"]
    (run / "gate.json").unlink()
    write_measurement(run, tiny_adapters.BASE)
    with transaction(database) as connection:
        registration.register_run(connection, run, tiny_adapters.BASE)
        registration.register_run(connection, run, tiny_adapters.BASE)
        model = models.find_by_name(connection, name)
    assert [one["outcome"] for one in model.gate["earlier"]] == ["too few", "failed", "passed"]
    write_result(run, "0" * 64)
    assert (
        json.loads((write_measurement(run, tiny_adapters.BASE) / "gate.json").read_text())[
            "earlier"
        ]
        == []
    )
