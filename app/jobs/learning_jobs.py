"""The jobs by which the bot learns (pure)."""

from dataclasses import dataclass

from app.jobs.job import Job, Queue


@dataclass(frozen=True, slots=True)
class RefitCalibrators(Job):
    """Fit every judge's calibrator on what became of judged patches by now."""

    queue = Queue.VERIFY
    kind = "refit_calibrators"


@dataclass(frozen=True, slots=True)
class UnloadAdapters(Job):
    """Have the model servers forget trained adapters that nobody uses any more."""

    queue = Queue.VERIFY
    kind = "unload_adapters"


@dataclass(frozen=True, slots=True)
class TrainModel(Job):
    """Train a model on what is known by now, if that is enough; or go on where a training was left."""

    queue = Queue.TRAIN
    kind = "train_model"

    asked: bool = False
    """An operator wants it: now, and on however little is new."""

    @property
    def key(self) -> str:
        return self.kind
