"""Refit the calibrators in a process of its own, because fitting needs other libraries."""

import logging
import subprocess
from collections.abc import Sequence
from importlib.util import find_spec

from sqlalchemy import Connection

from app.jobs.job import OF_THE_APP, Planned
from app.jobs.learning_jobs import RefitCalibrators
from app.operator.processes import FIT
from worker.queue.context import Context

_LOOK_SECONDS = 0.2
_END_SECONDS = 10.0
_TAIL = 1_000
"""Most characters of an error that are kept."""

log = logging.getLogger(__name__)


class FitFailed(Exception):
    """The process that fits calibrators failed; the message ends with its output."""


def refit_calibrators(database_url: str, context: Context, _job: RefitCalibrators) -> None:
    """Fit every judge's calibrator on the present history in a child process, and wait for its end.

    Without scikit-learn this only logs a warning. Raises FitFailed.
    """
    if find_spec("sklearn") is None:
        log.warning(
            "calibrators are not fitted: scikit-learn is missing; pip install 'r4p-bot[calibrate]'"
        )
        return
    with subprocess.Popen(
        FIT.build_command(),
        env=FIT.build_environment({"R4P_DATABASE_URL": database_url}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as fit:
        output, errors = _wait_for_fit(context, fit)
    if fit.returncode:
        raise FitFailed(f"`r4p calibrate` ended with {fit.returncode}: {errors[-_TAIL:].strip()}")
    log.info("calibrators: %s", " ".join(output.split()))


def plan_refit(_connection: Connection) -> Sequence[Planned]:
    """Return the job that refits every judge's calibrator, because new outcomes may be known."""
    return [Planned(RefitCalibrators(OF_THE_APP))]


def _wait_for_fit(context: Context, fit: "subprocess.Popen[str]") -> tuple[str, str]:
    """Return the fit's output and errors; stop it and raise when this job has to stop."""
    while True:
        try:
            return fit.communicate(timeout=_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            if not context.keep_going():
                fit.terminate()
                fit.wait(_END_SECONDS)
                context.check()
