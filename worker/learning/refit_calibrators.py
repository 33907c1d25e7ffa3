"""Have what was learnt brought up to date. Learning runs in a process of its own: it needs other libraries."""

import logging
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from sqlalchemy import Connection

from app.jobs.job import OF_THE_APP, Planned
from app.jobs.learning_jobs import RefitCalibrators
from app.operator.processes import FIT
from worker.queue.context import Context

_LOOK_SECONDS = 0.2
_END_SECONDS = 10.0
_TAIL = 1_000
"""Characters of a failure that are kept."""

log = logging.getLogger(__name__)


class FitFailed(Exception):
    """The fit ended with an error; the message ends with what it said."""


@dataclass(frozen=True, slots=True)
class RefitCalibratorsHandler:
    """Fits every judge's calibrator on what is known by now; twice changes nothing."""

    database_url: str

    def __call__(self, context: Context, _job: RefitCalibrators) -> None:
        """Run the fit to its end. Raises FitFailed."""
        if find_spec("sklearn") is None:
            log.warning(
                "calibrators are not fitted: scikit-learn is missing; pip install 'r4p-bot[calibrate]'"
            )
            return
        with subprocess.Popen(
            FIT.command(),
            env=FIT.environment({"R4P_DATABASE_URL": self.database_url}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as fit:
            found, said = _ended(context, fit)
        if fit.returncode:
            raise FitFailed(f"`r4p calibrate` ended with {fit.returncode}: {said[-_TAIL:].strip()}")
        log.info("calibrators: %s", " ".join(found.split()))


def due_calibrators(_connection: Connection) -> Sequence[Planned]:
    """By the clock: more may be known now than at the last fit."""
    return [Planned(RefitCalibrators(OF_THE_APP))]


def _ended(context: Context, fit: "subprocess.Popen[str]") -> tuple[str, str]:
    """What it printed and what it complained of; raises what ends this attempt when it is to stop."""
    while True:
        try:
            return fit.communicate(timeout=_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            if not context.keep_going():
                fit.terminate()
                fit.wait(_END_SECONDS)
                context.check()
