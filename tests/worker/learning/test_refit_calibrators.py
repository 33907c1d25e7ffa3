"""The job that has calibrators fitted: by the real command, in a process of its own."""

import threading
from functools import partial

import pytest
from sqlalchemy import select

from app.db.session import transaction
from app.db.tables.schema import calibrators
from app.jobs.job import OF_THE_APP
from app.jobs.learning_jobs import RefitCalibrators
from app.outcomes.judgement import Judge
from model.domain import EngineInfo
from tests.builders.history import judged_history
from tests.builders.job_attempts import carry_out
from worker.learning.refit_calibrators import FitFailed, plan_refit, refit_calibrators
from worker.queue.context import Context
from worker.queue.errors import Postponed

pytestmark = pytest.mark.services
JUDGE = Judge("r4p", EngineInfo("vLLM", "R4P-32B", "9f3c1a77aa52"))
JOB = RefitCalibrators(OF_THE_APP)


def test_fitting_keeps_each_calibrator_once(twice, database_url):
    def arrange(database):
        with transaction(database) as connection:
            judged_history.settle(connection, 70, training="calibrate")
            judged_history.live(connection, 70, JUDGE)
        return JOB

    def observe(database):
        with transaction(database) as connection:
            return list(connection.scalars(select(calibrators.c.state)))

    assert twice(partial(refit_calibrators, database_url), arrange, observe) == ["active"]


def test_a_fit_that_fails_says_why(database):
    with pytest.raises(FitFailed, match="must start with postgresql://"):
        carry_out(database, partial(refit_calibrators, "mysql://nowhere"), JOB)


def test_a_worker_that_ends_waits_for_no_fit(database, database_url):
    context = Context(database, None, threading.Event(), lambda: True)
    with pytest.raises(Postponed):
        refit_calibrators(database_url, context, JOB)


def test_the_clock_asks_for_one_fit():
    assert [planned.job for planned in plan_refit(None)] == [JOB]
