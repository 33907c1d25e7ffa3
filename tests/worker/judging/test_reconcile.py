"""Evaluations whose jobs are gone are judged and published all the same."""

import pytest
from sqlalchemy import text

from app.db.session import transaction
from app.db.store.issues import evaluations
from app.db.store.queue import jobs
from app.jobs.job import Planned, ProposePatches, PublishVerdict, Reconcile, VerifyGroup
from app.policy.alternative_policy import RefusalReason
from tests.builders.job_attempts import waiting
from worker.judging.reconcile import (
    plan_reconciliation,
)

pytestmark = pytest.mark.services


@pytest.fixture
def scene(scene):
    scene.begin("w * h")
    scene.store_evaluation()
    return scene


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


def test_an_installation_outside_the_allowed_accounts_gets_no_job(scene):
    with transaction(scene.database) as connection:
        connection.execute(
            text("update evaluations set state = 'verified', verified_at = created_at")
        )
        connection.execute(text("delete from jobs"))
    with transaction(scene.database) as connection:
        for accounts in ((), ("SCENE",), (str(scene.installation),)):
            assert {type(one.job) for one in plan_reconciliation(connection, accounts)} == {
                Reconcile,
                PublishVerdict,
            }
        assert plan_reconciliation(connection, ("somebody-else",)) == []
