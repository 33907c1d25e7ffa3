"""A handler of trainings whose trainer is tests/worker/learning/trainer.py, and what became of its trainings."""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa
from pyarrow import parquet

from app.db.session import transaction
from app.db.store.models import trainings
from app.db.store.queue import jobs
from app.jobs.job import OF_THE_APP, Planned
from app.jobs.learning_jobs import TrainModel
from app.learning.training_plan import TrainingState
from app.settings import TrainSettings
from tests.services import wait_for
from tests.worker.learning import trainer
from worker.learning.launchers.local import Local
from worker.learning.train_model import TrainModelHandler
from worker.queue.context import Context

PROGRAM = (sys.executable, trainer.__file__)
JOB = TrainModel(OF_THE_APP)
ASKED = TrainModel(OF_THE_APP, asked=True)
MANIFEST = {
    "schema": "r4p.dataset/1",
    "splits": {
        "train": {"issues": 60, "groups": 60, "unknown": 0, "positives": {"2": 60}},
        "test": {"issues": 30},
    },
}


def register(_context, training):
    """As a registrar would: the gate's word decides."""
    gate = json.loads((training.run / "gate.json").read_text())
    passed = gate["outcome"] == "passed"
    return (
        (TrainingState.FINISHED if passed else TrainingState.REJECTED),
        gate["why"],
        "r4p-20261122-0badcafe",
    )


def handler(folder, database_url, faults=None, manifest=MANIFEST, launcher=None, **changes):
    """One whose trainer has these faults. Datasets are there already; without a manifest they are built."""
    folder.mkdir(exist_ok=True)
    (folder / "faults.json").write_text(json.dumps(faults or {}))
    for number in range(1, 9) if manifest is not None else ():
        write_dataset(folder / f"{number:06}" / "dataset", manifest)
    settings = TrainSettings(train_plan="cpu-smoke", train_dir=folder)
    registrar, look_seconds = changes.pop("registrar", None), changes.pop("look_seconds", 0.05)
    return TrainModelHandler(
        settings=settings.model_copy(update=changes),
        launcher=launcher or Local(PROGRAM),
        register=registrar or register,
        comparison_arguments=registrar.build_comparison_arguments if registrar else _against,
        database_url=database_url,
        task_environment={"R4P_MODEL_DIR": "/models"},
        look_seconds=look_seconds,
    )


def write_dataset(folder, manifest=MANIFEST, first=0, sources=("outcomes",)):
    """One of so many issues as the manifest says, numbered from the first, each labelled by one of these in turn."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    for split, of in manifest["splits"].items():
        numbers = range(first, first + of["issues"])
        table = {
            "issue": [f"octo/{split}#{number}" for number in numbers],
            "source": [sources[number % len(sources)] for number in numbers],
        }
        parquet.write_table(pa.table(table), folder / f"{split}.parquet")


def _against(_context):
    return ("--engine-url", "http://vllm:8000/v1")


def last(database):
    """The newest training."""
    with transaction(database) as connection:
        return trainings.find_last(connection)


def starts(training):
    """One line for each time its trainer was started."""
    return (training.run / "starts").read_text().splitlines()


@contextmanager
def interrupt(database, handler, stopping, lost=None):
    """Carries out on a thread until the run has begun; after the block, which stops it, yields its future."""
    with transaction(database) as connection:
        (stored,) = jobs.enqueue(connection, [Planned(JOB)])
    claimed = jobs.claim(database, stored.id, 60)
    context = Context(database, claimed, lost or threading.Event(), stopping.is_set)
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(handler, context, JOB)
        wait_for(lambda: last(database) and last(database).progress, 30)
        yield claimed, work
