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


@dataclass(frozen=True, slots=True)
class ChangeModel(Job):
    """Promote a trained model or roll a role back, because an operator asked for it on the Models page.

    Only the worker `train` may change which model judges.
    """

    queue = Queue.TRAIN
    kind = "change_model"

    name: str
    """A random name, so that no form is carried out twice."""
    login: str
    """The operator's login."""
    alias: str
    """The role that changes: `champion`, `canary` or `shadow`."""
    model: str
    """The model that gets the role; empty: roll the role back."""
    holder: str
    """The model that held the role when the operator looked; empty: none."""

    @property
    def key(self) -> str:
        return self.kind
