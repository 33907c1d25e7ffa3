"""From rivals to a verdict and its outcome on a GitHub that answers by the next version of its API."""

from functools import partial

import pytest
from sqlalchemy import select

from app.db.session import transaction
from app.db.tables.schema import outcome_events
from app.jobs.job import PublishVerdict, VerifyGroup
from app.outcomes import EventKind
from tests.builders.github.local_github import connect
from tests.builders.history import stored_outcomes
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import RESULTS, verifying
from tests.github.contract.api_version import NEXT
from tests.github.stand_in import StandIn
from tests.worker.outcomes.judged_repository import JudgedRepository
from worker.git.checkout import Checkouts
from worker.outcomes.observe_outcomes import measure_survival
from worker.publishing.publish_verdict import PublishVerdictHandler

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def session_standin(tmp_path_factory):
    with StandIn.start(tmp_path_factory.mktemp("github"), api_version=NEXT) as running:
        running.hold_webhooks()
        yield running


def test_rivals_get_a_verdict_in_a_comment_and_two_checks(scene):
    scene.begin(*RESULTS)
    scene.collect()
    for kind, handler in (
        (VerifyGroup, verifying()),
        (PublishVerdict, PublishVerdictHandler(scene.github, 0.0, has_writer=False)),
    ):
        (job,) = [job for job in waiting(scene.database) if isinstance(job, kind)]
        carry_out(scene.database, handler, job)
    (comment,) = scene.repo.comments(scene.issue)
    assert comment.author == scene.app.bot_login
    assert f"#{scene.pulls[0]} judged correct" in comment.body
    assert [len(scene.repo.check_runs(pull)) for pull in scene.pulls] == [1, 1]


def test_a_merge_whose_webhook_lacks_the_merge_commit_is_an_outcome(standin, app, scene, database):
    world = JudgedRepository(standin, database, "next-version", app)
    first = world.first.number
    merge = world.repo.merge(first, user="maintainer")
    closed = [sent for sent in standin.deliveries() if sent.event == "pull_request"][-1]
    shown = closed.payload["pull_request"]
    assert (shown["merged"], "merge_commit_sha" in shown) == (True, False)
    world.record()
    assert (first, "merged", None, None) in world.list_outcomes()

    checkouts = Checkouts(scene.directory, scene.checkouts.github)
    key, version = world.app.private_key, standin.api_version
    with connect(standin.url, app_id=world.app.app_id, key=key, api_version=version) as github:
        handler = partial(measure_survival, github, checkouts)
        world.do(handler, world.measure_survival(first, 7))
    with transaction(database) as connection:
        rows = stored_outcomes.list_rows(connection, world.group)
        landed = outcome_events.c.kind == EventKind.LANDED.value
        heads = connection.scalars(select(outcome_events.c.head_sha).where(landed)).all()
    assert [row.value for row in rows if row.kind == "survival"] == [1.0]
    assert heads == [merge]
