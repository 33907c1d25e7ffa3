"""What a missed webhook would have led to is planned like any other event: when a burst is over."""

from datetime import UTC, datetime
from functools import partial

import pytest
from sqlalchemy import text

from app.db.session import transaction
from app.db.store.issues import evaluations, groups
from app.db.store.queue import jobs
from app.github.api.rest_reader import PullSummary
from app.jobs.job import Planned, ProposePatches, Reconcile, VerifyGroup
from app.policy.alternative_policy import RefusalReason
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import CONFIG, area
from worker.judging.reconcile import (
    MISSED_WITHIN,
    find_missed_pulls,
    plan_reconciliation,
    reconcile_pulls,
)

pytestmark = pytest.mark.services


@pytest.fixture
def scene(scene):
    scene.begin("w * h")
    scene.collected()
    return scene


def list_waits(scene, least=10.0):
    """After a push that no webhook told of and a look: how long the issue's evaluations wait in all."""
    scene.repo.push(scene.pulls[0], files=area("h * w"))
    handler = partial(reconcile_pulls, scene.github, least)
    carry_out(scene.database, handler, Reconcile(scene.installation, scene.id))
    seconds = "round(extract(epoch from run_after - created_at))"
    with transaction(scene.database) as connection:
        query = f"select {seconds} from jobs where kind = 'evaluate_issue'"
        return [int(found) for found in connection.scalars(text(query))]


def plan_evaluation(scene, delay):
    with transaction(scene.database) as connection:
        jobs.enqueue(connection, [Planned(scene.want_evaluation(), delay)])


def test_an_evaluation_that_nobody_planned_waits_as_after_an_event(scene):
    assert list_waits(scene) == [10]


def test_the_repositorys_own_quiet_time_holds_here_too(scene):
    with transaction(scene.database) as connection:
        config = CONFIG.replace("quiet_minutes: 0", "quiet_minutes: 5")
        groups.save_config(connection, scene.id, text=config, error=None)
    assert list_waits(scene) == [300]


@pytest.mark.parametrize("delay", [90, 0], ids=["waiting", "due"])
def test_a_planned_evaluation_is_neither_brought_forward_nor_put_off(scene, delay):
    plan_evaluation(scene, delay)
    assert list_waits(scene) == [delay]


def test_a_pull_request_taken_out_of_its_group_is_no_news_for_ever(scene):
    (pull,) = scene.pulls
    scene.repo.push(pull, files=area("h * w"))
    moved = [PullSummary(pull, scene.repo.head(pull), datetime.now(UTC) - 2 * MISSED_WITHIN)]
    with transaction(scene.database) as connection:
        group = groups.ensure_group(connection, scene.id, scene.issue)
        before = groups.list_heads(connection, scene.id)
        groups.force_members(connection, group, [pull], member=False)
        after = groups.list_heads(connection, scene.id)
    assert find_missed_pulls(moved, before, datetime.now(UTC)) == (pull,)
    assert find_missed_pulls(moved, after, datetime.now(UTC)) == ()


def test_a_repository_that_was_taken_from_us_unheard_is_no_failure(scene):
    scene.standin.remove_repositories(scene.installation, [scene.repo])
    carry_out(
        scene.database,
        partial(reconcile_pulls, scene.github, 10.0),
        Reconcile(scene.installation, scene.id),
    )
    assert waiting(scene.database) == []


def test_without_a_worker_for_agents_a_group_is_judged_as_it_is(scene):
    with transaction(scene.database) as connection:
        connection.execute(text("update evaluations set alternatives_wanted = 1"))
        (identity,) = connection.scalars(text("select id from evaluations"))
        agents = ProposePatches(scene.installation, scene.id, scene.issue, identity)
        connection.execute(text("delete from jobs"))
        jobs.enqueue(connection, [Planned(agents)])
        connection.execute(text("update jobs set run_after = now() - interval '2 hours'"))
    with transaction(scene.database) as connection:
        planned = plan_reconciliation(connection)
        evaluation = evaluations.load(connection, identity)
    judging = VerifyGroup(scene.installation, scene.id, scene.issue, identity)
    assert [one.job for one in planned if isinstance(one.job, VerifyGroup)] == [judging]
    assert (evaluation.alternatives_wanted, evaluation.alternatives_lack) == (
        0,
        RefusalReason.NOBODY,
    )
    assert waiting(scene.database) == []
