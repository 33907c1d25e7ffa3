"""One training by the real commands: it is killed on the way, resumed, measured, and registered."""

import json
import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from app.db.session import transaction
from app.db.store import models
from app.settings import EngineSettings
from app.training import State
from tests.training import tiny
from tests.worker import trainings
from tests.worker.attempts import carry_out
from tests.worker.trainings import JOB, last
from training import dataset
from training.manifest import Manifest
from worker.launchers.local import Local
from worker.register import Registrar

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]
STEPS = 8


def killed_once(database):
    """Kills the trainer as soon as a checkpoint can be seen."""
    while True:
        time.sleep(0.2)
        found = last(database)
        if found is None or not list(found.run.glob("checkpoint-6/COMPLETE")):
            continue
        for process in Path("/proc").glob("[0-9]*"):
            if str(found.run).encode() in _command(process):
                os.kill(int(process.name), signal.SIGKILL)
        return


def _command(process):
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_training_goes_from_a_dataset_to_a_registered_model(database, database_url, tmp_path):
    folder = tmp_path / "trainings"
    groups = tiny.groups(24)
    split = {"train": groups[:16], "test": groups[16:]}
    dataset.write(folder / "000001" / "dataset", split, Manifest(seed=1, as_of=None, rules={}))
    registrar = Registrar("champion", partial(EngineSettings, model="tiny", engine_url=None))
    handler = trainings.handler(
        folder,
        database_url,
        manifest=None,
        launcher=Local(),
        registrar=registrar,
        train_run_args=f"--base {tiny.kept_base()} --max-steps {STEPS}",
        train_evaluate_args="--votes 1",
        train_new_issues=0,
        look_seconds=1.0,
    )
    threading.Thread(target=killed_once, args=(database,), daemon=True).start()
    carry_out(database, handler, JOB)
    found = last(database)
    assert found.state is State.FINISHED, found
    result = json.loads((found.run / "result.json").read_text())
    assert (result["steps"], result["resumed_from"]) == (STEPS, 6)
    assert (found.progress["step"], found.progress["of"]) == (STEPS, STEPS)
    assert "30 are needed to decide by it" in found.why
    with transaction(database) as connection:
        (model,) = models.newest(connection)
    assert found.model == model.adapter.name
