"""The jobs by which the bot learns (pure)."""

from dataclasses import dataclass

from app.jobs import Job, Queue


@dataclass(frozen=True, slots=True)
class RefitCalibrators(Job):
    """Fit every judge's calibrator on what became of judged patches by now."""

    queue = Queue.TRAIN
    kind = "refit_calibrators"
