"""A writer that was paused longer than its lease leaves one draft pull request, wherever it was paused."""

import json
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

from app.db.session import transaction
from app.db.store.alternatives import drafts
from app.db.store.queue import installation_controls, jobs, upkeep
from app.db.store.queue.installation_controls import InstallationPaused
from app.db.store.queue.jobs import Fenced
from app.jobs.draft_jobs import TellDraft
from app.jobs.job import Planned
from app.values.identifiers import RepositoryRef
from tests.builders.github.paused_publishers import PausedAttempt, Stopping
from tests.builders.job_attempts import waiting
from tests.builders.worker_scene import area
from worker.queue.context import Context

pytestmark = pytest.mark.services

WRITE = ["permit_write", "check_owner", "write"]
STEPS = ["plan", *WRITE * 4, "confirm", "save"]
"""Where an attempt may be paused: before its plan, around each of four requests, and before it stores the end."""
MOMENTS = range(1, len(STEPS) + 1)
QUICK = {(10, True), (13, True), (13, False), (15, True)}
"""The branch, the pull request, the same on an unmoved base, and the end. Earlier pauses leave nothing behind."""


def vary(cases, quick):
    """The cases as parameters; all but the quick ones are proofs."""
    return [pytest.param(*case, marks=[] if case in quick else pytest.mark.proof) for case in cases]


class PausedContext(Context):
    """A context that stops before each step."""

    def stop_at(self, stop):
        object.__setattr__(self, "stop", stop)
        return self

    def open_effects(self, evaluation=None):
        return Stopping(super().open_effects(evaluation), self.stop)

    @contextmanager
    def transaction(self):
        self.stop("save")
        with super().transaction() as connection:
            yield connection


class PausedWriter:
    """Attempts to open one draft; each takes the job over from the one before."""

    def __init__(self, scene, opening, job):
        self.scene, self.opening, self.job = scene, opening, job
        self.branch = f"r4p/issue-{scene.issue}-A1"

    def open(self):
        """Claim the job, as a worker does after the last one's lease ended, and stop before the first step."""
        claimed = self._claim()

        def work(stop):
            context = PausedContext(self.scene.database, claimed, threading.Event(), lambda: False)
            handler = replace(self.opening, github=Stopping(self.opening.github, stop))
            handler(context.stop_at(stop), self.job)

        return PausedAttempt(work)

    def _claim(self):
        with transaction(self.scene.database) as connection:
            connection.exec_driver_sql("update jobs set lease_until = now() - interval '1 s'")
            upkeep.release_expired(connection, max_attempts=9)
            (stored,) = jobs.enqueue(connection, [Planned(self.job)])
        return jobs.claim(self.scene.database, stored.id, 60)

    def list_pulls(self):
        """The numbers of the pull requests of the draft's branch, open or closed."""
        repo = self.scene.repo
        query = {"state": "all", "head": f"{repo.full_name.partition('/')[0]}:{self.branch}"}
        place = RepositoryRef(self.job.installation, self.job.repository, repo.full_name)
        answer = self.scene.github.get(place, f"/repos/{repo.full_name}/pulls", query)
        return [pull["number"] for pull in json.loads(answer.body)]

    def count_writes(self, mark):
        return sum(
            request.method != "GET" and request.route.startswith("/repos")
            for request in self.scene.standin.history(mark)
        )

    def show(self):
        """What the bot stores, and what the branch holds."""
        with transaction(self.scene.database) as connection:
            stored = drafts.load(connection, self.job.draft)
        content = self.scene.repo.read_file("area.py", self.branch).decode()
        told = sum(isinstance(job, TellDraft) for job in waiting(self.scene.database))
        return [stored.pull], stored.not_opened, told, content


@pytest.fixture
def writing(scene, opening, wish):
    return PausedWriter(scene, opening, wish())


def go(attempt, moment):
    for _ in range(moment):
        attempt.go_on()
    assert attempt.step == STEPS[moment - 1]


def test_every_step_of_an_attempt_is_tried(writing):
    attempt, steps = writing.open(), []
    while not attempt.is_over:
        attempt.go_on()
        steps.append(attempt.step)
    assert (steps[:-1], attempt.error) == (STEPS, None)


@pytest.mark.parametrize(
    ("moment", "has_moved"),
    vary([*((moment, True) for moment in MOMENTS), (10, False), (13, False)], QUICK),
)
def test_a_paused_attempt_leaves_one_draft(writing, moment, has_moved):
    late = writing.open()
    go(late, moment)
    if has_moved:
        writing.scene.repo.commit({"new.py": "x = 1\n"})
    newer = writing.open()
    newer.finish()
    late.finish()
    assert (type(late.error), newer.error) == (Fenced, None)
    pulls = writing.list_pulls()
    assert len(pulls) == 1
    assert writing.show() == (pulls, None, 1, area("w * h")["area.py"])


def test_a_draft_that_an_earlier_attempt_opened_is_found_although_its_diff_applies_no_more(writing):
    late = writing.open()
    late.go_until("confirm")
    writing.scene.repo.commit(area("w + h + 1"))
    writing.open().finish()
    late.finish()
    assert writing.show() == (writing.list_pulls(), None, 1, area("w * h")["area.py"])


@pytest.mark.parametrize("moment", vary([(moment,) for moment in MOMENTS], {(11,), (13,)}))
def test_a_pause_by_the_operator_stops_the_next_write(writing, moment):
    installation, database = writing.job.installation, writing.scene.database
    attempt = writing.open()
    go(attempt, moment)
    with transaction(database) as connection:
        installation_controls.pause(connection, installation)
    mark = writing.scene.standin.mark()
    attempt.finish()
    is_sent = STEPS[moment - 1] == "write"
    assert writing.count_writes(mark) == is_sent
    has_pull = moment >= len(STEPS) - 2
    assert isinstance(attempt.error, InstallationPaused) is not has_pull
    with transaction(database) as connection:
        installation_controls.resume(connection, installation)
    if not has_pull:
        writing.open().finish()
    pulls = writing.list_pulls()
    assert writing.show() == (pulls, None, 1, area("w * h")["area.py"])
    assert len(pulls) == 1
