"""What agents cost is taken from their repository's budget, whatever becomes of them."""

import threading
from datetime import timedelta

import pytest

from app.db.session import transaction
from app.db.store.alternatives import attempts
from app.db.store.issues import groups
from app.db.store.queue import jobs
from app.db.store.queue.jobs import Fenced
from app.jobs.job import Planned
from app.policy.alternative_policy import Cost, RefusalReason
from app.settings.repo_config import WITHOUT_FILE
from model.agents.trajectories.trajectory import StopReason
from model.errors import Cancelled
from tests.builders.job_attempts import carry_out, waiting
from tests.model.agents.builders import build_attempt
from tests.worker.agents.proposals import (
    STEP,
    agents,
    build_writing_agents,
    count_tried,
    load_evaluation,
    patch,
    rows,
    sum_cost,
)
from worker.agents import budget
from worker.queue.context import Context
from worker.queue.errors import Postponed

pytestmark = pytest.mark.services


def test_the_cost_since_planning_counts_against_the_budget(database, trees, job):
    with transaction(database) as connection:
        config = "version: 1\nalternatives_budget: {tokens: 0}\n"
        groups.save_config(connection, job.repository, text=config, error=None)
    carry_out(database, agents(trees, build_writing_agents()), job)
    assert load_evaluation(database, job).alternatives_lack is RefusalReason.BUDGET
    assert rows(database) == []


def test_agents_get_what_is_left_of_the_budget(database, trees, job):
    given = []

    def run(*tree, limits, **more):
        given.append(limits)
        return build_writing_agents(None, None, None)(*tree, **more)

    with transaction(database) as connection:
        config = "version: 1\nalternatives_budget: {tokens: 1000, seconds: 90}\n"
        groups.save_config(connection, job.repository, text=config, error=None)
    carry_out(database, agents(trees, run), job)
    assert [(one.tokens, one.seconds) for one in given] == [(1000, 30.0)]


def test_agents_nobody_waits_for_stop_and_are_paid(database, trees, job):
    lost = threading.Event()

    def run(_tree, _issue, *, on_step, ledger, **_more):
        lost.set()
        ledger.tokens = 70
        on_step(0, STEP)

    with transaction(database) as connection:
        (stored,) = jobs.enqueue(connection, [Planned(job)])
    context = Context(database, jobs.claim(database, stored.id, 60), lost, lambda: False)
    with pytest.raises(Cancelled):
        agents(trees, run)(context, job)
    assert [(row.stop, row.number) for row in rows(database)] == [("taken_back", None)] * 3
    assert sum_cost(database).tokens == 70
    assert count_tried(database, job) == 0
    assert waiting(database) == []


def test_a_superseded_attempt_is_paid(database, trees, job):
    def run(*tree, **more):
        done = build_writing_agents(patch("w * h"), None, None)(*tree, **more)
        with transaction(database) as connection:
            jobs.supersede(connection, [job.key])
        return done

    with pytest.raises(Fenced):
        carry_out(database, agents(trees, run), job)
    assert [(row.stop, row.number) for row in rows(database)] == [("taken_back", None)] * 3
    assert (sum_cost(database).tokens, count_tried(database, job)) == (3 * 70, 0)
    assert load_evaluation(database, job).alternatives == ()
    assert trees.find(job.evaluation) is None


def test_two_jobs_do_not_spend_the_same_budget(database, trees, job):
    """What an agent at work may cost is nobody else's meanwhile; who finds nothing left waits for its end."""

    def run(*tree, limits, **more):
        with transaction(database) as connection:
            at_work = attempts.sum_cost(connection, job.repository, include_running=True)
        assert at_work == Cost(limits.tokens, limits.seconds * 3)
        assert sum_cost(database) == Cost()
        with transaction(database) as connection, pytest.raises(Postponed, match="rest of this"):
            budget.reserve_budget(connection, job.repository, WITHOUT_FILE, 1, may_postpone=True)
        with transaction(database) as connection:
            more_of_it = (connection, job.repository, WITHOUT_FILE, 1)
            assert budget.reserve_budget(*more_of_it, may_postpone=False) is None
        return build_writing_agents(None, None, None)(*tree, **more)

    carry_out(database, agents(trees, run), job)
    assert sum_cost(database).tokens == 3 * 70
    with transaction(database) as connection:
        again = budget.reserve_budget(
            connection, job.repository, WITHOUT_FILE, 1, may_postpone=True
        )
    assert again.limits.tokens == 200_000 - 3 * 70


def test_a_concurrent_reservation_waits_for_the_lock(database, job):
    begun = []

    def begin():
        with transaction(database) as connection:
            one = budget.reserve_budget(
                connection, job.repository, WITHOUT_FILE, 1, may_postpone=False
            )
            begun.append(one)

    with transaction(database) as connection:
        first = budget.reserve_budget(
            connection, job.repository, WITHOUT_FILE, 3, may_postpone=True
        )
        second = threading.Thread(target=begin)
        second.start()
        second.join(0.5)
        assert begun == []
    second.join(10)
    assert first.limits.tokens == 200_000
    assert begun == [None]


def test_a_worker_that_is_killed_leaves_what_it_might_have_cost(database, trees, job, monkeypatch):
    with transaction(database) as connection:
        budget.reserve_budget(connection, job.repository, WITHOUT_FILE, 1, may_postpone=True)
    assert sum_cost(database) == Cost()
    monkeypatch.setattr(attempts, "LONGEST_RUN", timedelta(0))
    assert sum_cost(database) == Cost(200_000, 1_800)
    carry_out(database, agents(trees, build_writing_agents()), job)
    assert load_evaluation(database, job).alternatives_lack is RefusalReason.BUDGET


def test_a_hanging_agent_costs_its_time_whatever_it_raises(database, trees, job):
    def run(*_tree, ledger, **_more):
        ledger._began -= 20  # so many seconds ago
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        carry_out(database, agents(trees, run), job)
    assert sum_cost(database).seconds > 3 * 20
    assert trees.find(job.evaluation) is None


def test_an_agent_does_not_say_itself_that_its_budget_is_used_up(database, trees, job):
    def run(_tree, issue, *, seeds, ledger, **_more):
        ledger.is_exhausted = len(seeds) == 1
        said = "the 5 tokens that this work may cost are used up"
        return tuple(
            build_attempt(issue=issue, seed=seed, stop=StopReason.ENGINE, failure=said)
            for seed in seeds
        )

    carry_out(database, agents(trees, run), job)
    assert [row.stop for row in rows(database)] == ["engine"] * 3
    assert load_evaluation(database, job).alternatives_lack is RefusalReason.ENGINE
