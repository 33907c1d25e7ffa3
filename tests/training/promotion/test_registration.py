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
from tests.builders import tiny_adapters
from tests.training.promotion.measured_runs import MARKS, ended, finished, measured
from training.gate.gate_decision import GateOutcome

pytestmark = MARKS


def test_a_run_is_registered_once_under_a_name_of_its_bytes(database, names, runs):
    with transaction(database) as connection:
        again = registration.register_run(connection, runs[0], tiny_adapters.BASE)
        kept = models.find_by_name(connection, names[0])
    assert again == names[0]
    assert names[0].endswith(kept.adapter.sha256[:8])
    assert (kept.state, kept.why) == (ModelState.CANDIDATE, "gate: passed; passed every check")
    assert kept.adapter.directory == runs[0] / "adapter"


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), ("{", "is not JSON"), ("[]", "holds no JSON object")],
)
def test_a_folder_that_holds_no_measured_run_is_told(database, tmp_path, content, said):
    if content:
        (tmp_path / "result.json").write_text(content)
    with transaction(database) as connection, pytest.raises(NotRegistered, match=said):
        registration.register_run(connection, tmp_path, tiny_adapters.BASE)


def test_a_copy_has_the_name_of_what_it_is_a_copy_of(database, names, run):
    os.utime(run / "result.json", (0, 0))
    with transaction(database) as connection:
        assert registration.register_run(connection, run, tiny_adapters.BASE) == names[0]
    assert names[0].startswith("r4p-20261122-")


def test_what_was_taken_back_does_not_come_in_again_as_another(database, names, run):
    result = json.loads((run / "result.json").read_text())
    ended(run, result["adapter_sha256"], at="2026-11-25T00:00:00+00:00")
    with transaction(database) as connection:
        models.reject(connection, names[0], "rolled back")
        assert registration.register_run(connection, run, tiny_adapters.BASE) == names[0]
        assert models.find_by_name(connection, names[0]).state is ModelState.REJECTED
        assert len(models.list_models(connection)) == len(names)


def test_a_run_that_does_not_say_when_it_ended_has_no_name(run):
    (run / "result.json").write_text("{}")
    with pytest.raises(BadAdapter, match="does not say when the run ended"):
        adapter_files.build_run_adapter_name(run, "0" * 64)


def refused(database, run):
    """Why a run is not registered."""
    with transaction(database) as connection, pytest.raises(NotRegistered) as why:
        registration.register_run(connection, run, tiny_adapters.BASE)
    return str(why.value)


def test_the_decision_on_another_run_keeps_nobody(database, runs, run):
    for name in ("gate.json", "evaluation.json"):
        shutil.copy(runs[1] / name, run / name)
    said = refused(database, run)
    assert f"{run}/gate.json is about the adapter " in said
    assert said.endswith(f"measure it again: r4p train evaluate --run {run}")


def test_a_decision_on_what_was_learnt_from_something_else_keeps_nobody(database, run):
    (run / "dataset.json").write_text(json.dumps({"digest": "f" * 64}))
    assert "is about the dataset dddddddddddd, but this run has ffffffffffff" in refused(
        database, run
    )


def test_a_decision_that_does_not_say_on_what_keeps_nobody(database, run):
    (run / "gate.json").write_text(json.dumps({"outcome": "passed", "why": "passed every check"}))
    assert "is about the adapter None" in refused(database, run)


def test_numbers_of_another_measurement_keep_nobody(database, run):
    before = (run / "gate.json").read_text()
    measured(run, "r4p-20261101-0badcafe")
    (run / "gate.json").write_text(before)  # as after a kill between the two
    assert "belongs to another measurement than" in refused(database, run)


def test_a_model_is_measured_as_what_it_answers_as(database, names, run):
    measured(run, tiny_adapters.BASE, verifier="yes-no")
    said = refused(database, run)
    assert f"{names[0]} is registered for r4p, but was measured with yes-no" in said
    assert said.endswith("--verifier r4p")


def test_who_measures_till_it_passes_is_seen(database, tmp_path):
    run = finished(tmp_path, seed=5, outcome=GateOutcome.TOO_FEW)
    measured(run, tiny_adapters.BASE, outcome=GateOutcome.FAILED)
    measured(run, tiny_adapters.BASE)
    with transaction(database) as connection:
        name = registration.register_run(connection, run, tiny_adapters.BASE)
        kept = models.find_by_name(connection, name)
    assert kept.why == "gate: passed, measured 3 times; passed every check"
    assert [one["outcome"] for one in kept.gate["earlier"]] == ["too few", "failed"]
    (run / "gate.json").unlink()
    measured(run, tiny_adapters.BASE)
    with transaction(database) as connection:
        registration.register_run(connection, run, tiny_adapters.BASE)
        registration.register_run(connection, run, tiny_adapters.BASE)
        kept = models.find_by_name(connection, name)
    assert [one["outcome"] for one in kept.gate["earlier"]] == ["too few", "failed", "passed"]
    ended(run, "0" * 64)
    assert (
        json.loads((measured(run, tiny_adapters.BASE) / "gate.json").read_text())["earlier"] == []
    )
