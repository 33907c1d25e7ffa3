"""Evaluations that nobody works on any more, whatever became of their jobs."""

import pytest

from app.db.store.issues import evaluations, stuck_evaluations
from app.db.store.issues.evaluations import NewEvaluation
from app.db.store.queue import jobs
from app.jobs.job import Planned, ProposePatches, VerifyGroup
from tests.builders.history import stored_verdict
from tests.builders.queue_rows import LEASE, execute

pytestmark = pytest.mark.services


@pytest.fixture
def verify(database):
    """The job that was to judge an evaluation, stored with it."""
    with database.begin() as connection:
        group = stored_verdict.settle(connection)
        candidate = stored_verdict.build_candidate(stored_verdict.LATE)
        new = NewEvaluation(group, "issue", "advisory", 4, "Crash", "", (candidate,))
        created = evaluations.create(connection, stored_verdict.REPOSITORY, new)
        job = VerifyGroup(
            stored_verdict.INSTALLATION, stored_verdict.REPOSITORY, stored_verdict.ISSUE, created.id
        )
        jobs.enqueue(connection, [Planned(job)])
    return job


def find_abandoned(database):
    with database.connect() as connection:
        return stuck_evaluations.find_abandoned(connection)


def test_a_waiting_or_running_evaluation_is_not_abandoned(database, verify):
    assert find_abandoned(database) == []
    jobs.claim_next(database, verify.queue, LEASE)
    assert find_abandoned(database) == []


def test_an_evaluation_whose_job_gave_up_is_abandoned_for_its_reason(database, verify):
    jobs.bury(database, jobs.claim_next(database, verify.queue, LEASE), "no engine")
    assert find_abandoned(database) == [(verify.evaluation, "no engine")]


@pytest.mark.parametrize("end", [jobs.finish, lambda *claim: jobs.step_aside(*claim, "stopped")])
def test_an_evaluation_whose_job_ended_without_a_verdict_is_abandoned(database, verify, end):
    end(database, jobs.claim_next(database, verify.queue, LEASE))
    assert find_abandoned(database) == [(verify.evaluation, "its job ended without a verdict")]


def test_an_evaluation_whose_job_was_tidied_away_is_abandoned(database, verify):
    execute(database, "delete from jobs")
    assert [identity for identity, _ in find_abandoned(database)] == [verify.evaluation]


def test_a_superseded_evaluation_is_not_abandoned(database, verify):
    jobs.finish(database, jobs.claim_next(database, verify.queue, LEASE))
    with database.begin() as connection:
        evaluations.mark_superseded(connection, verify.evaluation)
    assert find_abandoned(database) == []


def want_agents(database, verify):
    """Let the evaluation wait for an agent; return its job."""
    agents = ProposePatches(**verify.to_payload())
    execute(database, "update evaluations set alternatives_wanted = 1")
    with database.begin() as connection:
        jobs.supersede(connection, [verify.key])
        jobs.enqueue(connection, [Planned(agents)])
    return agents


def find_without_agents(database):
    with database.connect() as connection:
        return stuck_evaluations.find_without_agents(connection)


def test_an_evaluation_that_waits_for_agents_is_nobodys_only_when_none_will_come(database, verify):
    agents = want_agents(database, verify)
    assert (find_abandoned(database), find_without_agents(database)) == ([], [])
    jobs.bury(database, jobs.claim_next(database, agents.queue, LEASE), "out of memory")
    assert (find_abandoned(database), find_without_agents(database)) == ([], [verify.evaluation])


def test_agents_that_nobody_begins_with_are_not_waited_for_for_ever(database, verify):
    agents = want_agents(database, verify)
    execute(database, "update jobs set run_after = now() - interval '59 minutes'")
    assert find_without_agents(database) == []
    execute(database, "update jobs set run_after = now() - interval '61 minutes'")
    assert find_without_agents(database) == [verify.evaluation]
    jobs.claim_next(database, agents.queue, LEASE)
    assert find_without_agents(database) == []
