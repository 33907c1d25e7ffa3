"""Jobs that fit calibrators and train models (pure)."""

from dataclasses import dataclass

from app.jobs.job import Job, Queue


@dataclass(frozen=True, slots=True)
class RefitCalibrators(Job):
    """Fit every judge's calibrator on the outcomes known so far.

    The worker `github` knows all outcomes already. The worker `verify` reads only what it judges.
    """

    queue = Queue.GITHUB
    kind = "refit_calibrators"


@dataclass(frozen=True, slots=True)
class UnloadAdapters(Job):
    """Make the model servers unload the adapters of trained models that judge nothing any more."""

    queue = Queue.VERIFY
    kind = "unload_adapters"


@dataclass(frozen=True, slots=True)
class TrainModel(Job):
    """Start a training if there is enough new data, or resume an unfinished training."""

    queue = Queue.TRAIN
    kind = "train_model"

    asked: bool = False
    """An operator asked for the training: train now, however little data is new."""

    @property
    def key(self) -> str:
        return self.kind
