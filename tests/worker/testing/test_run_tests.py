"""Tests run on every rival; whatever becomes of them, the outcome is stored once and the verdict is published."""

import threading
from dataclasses import replace

import pytest
from sqlalchemy import func, select

from app.db.session import transaction
from app.db.store.queue import jobs
from app.db.tables.schema import test_baselines as baseline_table
from app.jobs.job import Planned, PublishVerdict
from model.domain import ObservedEvidence, RegressionResult
from model.execution.candidate_tests import CandidateTests
from model.execution.regression import Baseline, RegressionEvidence
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import build_diff
from tests.worker.testing.conftest import REQUEST, store_group
from worker.git.tree_store import TreeStore
from worker.queue.context import Context
from worker.queue.errors import Postponed
from worker.testing.run_tests import RunTestsHandler

pytestmark = pytest.mark.services

BASELINE = Baseline(frozenset({"t::a", "t::b"}), frozenset({"t::c"}), ("plugin",), 1.0)


def count_baselines(database):
    with transaction(database) as connection:
        return connection.scalar(select(func.count()).select_from(baseline_table))


def break_all(_tree, patches, _command, *, baseline, **_more):
    """Tests of which every patch breaks the first."""
    found = baseline or BASELINE
    told = RegressionEvidence(("t::a",), 2)
    return CandidateTests(found, {patch.id: told for patch in patches})


def test_a_real_run_names_the_tests_that_each_rival_breaks(
    bubblewrap, database, store, testing, read
):
    job = store("w * h", "w - h", "w + h + 0")
    carry_out(database, testing, job)
    outcome = read(job).outcome
    assert (outcome.failure, outcome.expected, outcome.flaky) == (None, 2, 0)
    broken = RegressionResult(2, 1, ("test_area.AreaTest.test_square_of_two",))
    assert outcome.results == {
        "#12": ObservedEvidence(RegressionResult(2, 0)),
        "#13": ObservedEvidence(broken),
        "#14": ObservedEvidence(RegressionResult(2, 0)),
    }
    assert waiting(database) == [PublishVerdict(**job.to_payload())]
    assert testing.tree_store.find(job.evaluation) is None
    assert count_baselines(database) == 1


def test_a_hostile_patch_is_unknown_and_the_others_are_told(
    bubblewrap, database, settings, testing, read
):
    hostile = build_diff("__import__('os')._exit(0)")
    trees = TreeStore(settings.tests_trees)
    job = store_group(database, trees, hostile, build_diff("w - h"))
    carry_out(database, testing, job)
    results = read(job).outcome.results
    assert results["#12"].regression is None
    assert "reaches for what runs the tests" in results["#12"].unknown
    assert results["#13"].regression.broken == 1


def test_the_base_runs_once_for_all_groups_on_it(database, store, settings):
    seen = []

    def run(*task, baseline, **more):
        seen.append(baseline)
        return break_all(*task, baseline=baseline, **more)

    job = store("w * h")
    handler = RunTestsHandler(TreeStore(settings.tests_trees), settings, run)
    carry_out(database, handler, job)
    with transaction(database) as connection:
        connection.exec_driver_sql("update group_tests set finished_at = null, results = null")
    (settings.tests_trees / f"ready-{job.evaluation}").mkdir()
    carry_out(database, handler, job)
    assert seen == [None, BASELINE]


def test_whenever_it_dies_the_outcome_is_stored_once(twice, settings, database, tmp_path):
    handler = RunTestsHandler(TreeStore(settings.tests_trees), settings, break_all)
    numbers = iter(range(1_000))

    def arrange(_database):
        trees = TreeStore(settings.tests_trees)
        (trees.directory / "room").mkdir(parents=True, exist_ok=True)
        next(numbers)
        return store_group(database, trees, build_diff("w * h"))

    def observe(_database):
        with transaction(database) as connection:
            row = connection.exec_driver_sql(
                "select failure, expected, results from group_tests where finished_at is not null"
            ).one()
        return tuple(row), [job.kind for job in waiting(database)], count_baselines(database)

    evidence = {"regression": {"expected": 2, "broken": 1, "names": ["t::a"]}}
    left = twice(handler, arrange, observe)
    assert left == ((None, 2, {"#12": evidence}), ["publish_verdict"], 1)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (
            replace(REQUEST, environment="py2"),
            "the operator of this bot has no test environment py2",
        ),
        (replace(REQUEST, environment="../host"), "has no test environment ../host"),
        (replace(REQUEST, command="make test"), "starts no test runner that is known here"),
        (
            replace(REQUEST, command="python -m unittest test_gone"),
            "none of 1 tests passes on the base",
        ),
        (replace(REQUEST, base_sha=None), "the source tree of the base is gone"),
    ],
    ids=["no environment", "no name", "no command", "nothing passes on the base", "no base"],
)
def test_what_cannot_run_is_one_clear_line_and_the_verdict_goes_on(
    bubblewrap, database, store, testing, read, wanted, why
):
    job = store("w * h", wanted=wanted)
    carry_out(database, testing, job)
    outcome = read(job).outcome
    assert why in outcome.failure
    assert "\n" not in outcome.failure
    assert outcome.results == {}
    assert waiting(database) == [PublishVerdict(**job.to_payload())]


def test_a_tree_that_is_gone_is_a_reason(database, store, testing, read):
    job = store("w * h")
    testing.tree_store.discard(job.evaluation)
    carry_out(database, testing, job)
    assert read(job).outcome.failure == "the source tree of the base is gone"


def attempt(database, handler, job, number, stopping=lambda: False):
    with transaction(database) as connection:
        (stored,) = jobs.enqueue(connection, [Planned(job)])
    claimed = replace(jobs.claim(database, stored.id, 60), attempt=number)
    handler(Context(database, claimed, threading.Event(), stopping), job)


def test_tests_that_killed_their_worker_twice_are_not_run_again(database, store, testing, read):
    job = store("w * h")
    attempt(database, testing, job, 3)
    assert read(job).outcome.failure == "the worker died while it ran the tests"


def test_a_worker_that_shuts_down_ends_the_runs_and_tries_again_later(
    bubblewrap, database, store, testing, read
):
    job = store("w * h")
    with pytest.raises(Postponed, match="shutting down"):
        attempt(database, testing, job, 1, stopping=lambda: True)
    assert read(job).finished_at is None
    assert testing.tree_store.find(job.evaluation) is not None
    assert waiting(database) == []


def test_tests_wait_for_the_agents_alternatives(database, store, testing, read):
    job = store("w * h", alternatives_wanted=1)
    with pytest.raises(Postponed, match="agents still write"):
        attempt(database, testing, job, 1)
    assert read(job).finished_at is None


def test_a_superseded_group_runs_no_test_and_leaves_no_tree(database, store, testing, read):
    job = store("w * h")
    with transaction(database) as connection:
        connection.exec_driver_sql("update evaluations set state = 'superseded'")
    carry_out(database, testing, job)
    assert read(job).finished_at is None
    assert testing.tree_store.find(job.evaluation) is None
    assert waiting(database) == []
