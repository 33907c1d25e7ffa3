"""What agents write becomes rivals; whatever becomes of the agents, the group is judged, and the bill is kept."""

import threading
import zlib
from dataclasses import replace

import pytest
from sqlalchemy import select

from app.db.session import transaction
from app.db.store.issues import evaluations
from app.db.store.queue import jobs
from app.db.tables.schema import evaluations as evaluation_table
from app.jobs.job import Planned, VerifyGroup
from app.policy.alternative_policy import RefusalReason
from model.agents.trajectories.guidance import HintSource, build_guidance
from model.agents.trajectories.trajectory import StopReason
from model.agents.trajectories.trajectory_json import load_trajectory
from model.errors import EngineDown
from tests.builders.history import stored_verdict
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
    store_waiting_evaluation,
    sum_cost,
)
from worker.agents.agent_process import AgentFailed
from worker.agents.propose import ProposePatchesHandler
from worker.git.tree_store import TreeStore
from worker.queue.context import Context

pytestmark = pytest.mark.services


def test_new_edits_become_rivals_and_every_attempt_is_kept(database, trees, job):
    before = load_evaluation(database, job)
    carry_out(
        database,
        agents(trees, build_writing_agents(patch("w * h"), patch("w - h"), patch("h * w"))),
        job,
    )
    after = load_evaluation(database, job)
    assert [one.id for one in after.alternatives] == ["A1", "A2"]
    assert [one.diff for one in after.alternatives] == [patch("w * h"), patch("h * w")]
    assert {(one.agent, one.steps, one.base_sha) for one in after.alternatives} == {
        ("mini-se", 1, stored_verdict.BASE)
    }
    assert (after.alternatives_wanted, after.alternatives_lack) == (0, RefusalReason.SAME)
    assert after.fingerprint != before.fingerprint
    assert waiting(database) == [VerifyGroup(**job.to_payload())]
    kept = rows(database)
    assert [(row.number, row.seed, row.stop) for row in kept] == [
        (1, 0, "submitted"),
        (None, 1, "submitted"),
        (2, 2, "submitted"),
    ]
    assert load_trajectory(zlib.decompress(kept[0].trajectory)).patch == patch("w * h")
    assert sum_cost(database).tokens == 3 * 70
    assert trees.find(job.evaluation) is None


def test_tree_stays_for_a_judge_that_shows_code(database, tmp_path):
    trees = TreeStore(tmp_path)
    job = store_waiting_evaluation(database, trees, wanted=1)
    handler = replace(agents(trees, build_writing_agents(patch("w * h"))), keeps_tree=True)
    carry_out(database, handler, job)
    assert waiting(database) == [VerifyGroup(**job.to_payload())]
    assert trees.find(job.evaluation) is not None


def test_whenever_it_dies_the_group_is_judged_once(twice, tmp_path):
    """With alternatives or, where the process died at work, without."""
    trees = TreeStore(tmp_path / "trees")
    handler = agents(trees, build_writing_agents(patch("w * h"), None, None))

    def observe(database):
        with transaction(database) as connection:
            wanted = connection.scalar(select(evaluation_table.c.alternatives_wanted))
        lying = [path.name for path in trees.directory.iterdir()]
        return wanted, [one.kind for one in waiting(database)], lying

    left = twice(handler, lambda database: store_waiting_evaluation(database, trees), observe)
    assert left == (0, ["verify_group"], [])


def test_an_agent_that_dies_leaves_what_was_over_and_the_bill_of_the_rest(database, trees, job):
    def run(_tree, issue, *, seeds, on_step, ledger, **_more):
        on_step(0, STEP)
        on_step(1, STEP)
        on_step(1, STEP)
        over = build_attempt(
            issue=issue,
            seed=seeds[0],
            steps=(STEP,),
            patch=patch("w * h"),
            stop=StopReason.SUBMITTED,
        )
        ledger.finished, ledger.tokens = (over,), 3 * 70
        ledger._began -= 20  # so many seconds ago
        raise AgentFailed("killed by signal 9")

    carry_out(database, agents(trees, run), job)
    after = load_evaluation(database, job)
    assert [one.id for one in after.alternatives] == ["A1"]
    assert (after.alternatives_wanted, after.alternatives_lack) == (0, RefusalReason.CRASHED)
    kept = [(row.stop, row.steps, row.failure) for row in rows(database)]
    assert kept == [
        ("submitted", 1, None),
        ("crashed", 2, "killed by signal 9"),
        ("crashed", 0, "killed by signal 9"),
    ]
    assert [row.prompt_tokens for row in rows(database)] == [100, 200, 0]
    assert sum_cost(database).tokens == 3 * 70
    assert sum_cost(database).seconds > 3 * 20
    assert count_tried(database, job) == 1
    assert [one.kind for one in waiting(database)] == ["verify_group"]


@pytest.mark.parametrize("error", [EngineDown("connection refused"), AgentFailed("no bubblewrap")])
def test_without_an_engine_or_walls_the_group_goes_on(database, trees, job, error):
    def run(*_tree, ledger, **_more):
        ledger.tokens = 50
        raise error

    carry_out(database, agents(trees, run), job)
    after = load_evaluation(database, job)
    why = RefusalReason.ENGINE if isinstance(error, EngineDown) else RefusalReason.CRASHED
    assert (after.alternatives, after.alternatives_lack) == ((), why)
    assert count_tried(database, job) == 0
    assert sum_cost(database).tokens == 50
    assert [one.kind for one in waiting(database)] == ["verify_group"]


def test_without_a_model_the_group_goes_on(database, trees, job):
    def no_model():
        raise EngineDown("no model is there")

    carry_out(database, ProposePatchesHandler(trees, no_model, build_writing_agents()), job)
    assert load_evaluation(database, job).alternatives_lack is RefusalReason.ENGINE
    assert rows(database) == []


def test_a_tree_that_is_gone_is_a_reason(database, trees, job):
    trees.discard(job.evaluation)
    carry_out(database, agents(trees, build_writing_agents()), job)
    assert load_evaluation(database, job).alternatives_lack is RefusalReason.NO_TREE


def test_a_job_that_killed_its_worker_runs_no_agent_again(database, trees, job):
    with transaction(database) as connection:
        (stored,) = jobs.enqueue(connection, [Planned(job)])
    claimed = replace(jobs.claim(database, stored.id, 60), attempt=2)
    context = Context(database, claimed, threading.Event(), lambda: False)
    agents(trees, build_writing_agents())(context, job)
    assert load_evaluation(database, job).alternatives_lack is RefusalReason.CRASHED


def test_an_evaluation_that_was_replaced_is_left_alone(database, trees, job):
    with transaction(database) as connection:
        evaluations.mark_superseded(connection, job.evaluation)
    carry_out(database, agents(trees, build_writing_agents()), job)
    assert (rows(database), waiting(database)) == ([], [])
    assert trees.find(job.evaluation) is None


def test_a_patch_that_repeats_its_hint_is_kept_and_not_judged(database, trees, job):
    hint = build_guidance(HintSource.MAINTAINER, "the width may never be wider than zebra stripes")

    def run(_tree, issue, *, seeds, **_more):
        return tuple(
            build_attempt(
                issue=issue, seed=seed, patch=patch(code), guidance=hint, stop=StopReason.SUBMITTED
            )
            for seed, code in zip(seeds, ["w * h", f"0  # {hint.feedback}", "h * w"], strict=True)
        )

    carry_out(database, agents(trees, run), job)
    after = load_evaluation(database, job)
    assert [one.diff for one in after.alternatives] == [patch("w * h"), patch("h * w")]
    assert after.alternatives_lack is RefusalReason.QUOTES_HINT
    assert [(row.number, row.stop) for row in rows(database)] == [
        (1, "submitted"),
        (None, "quotes_hint"),
        (2, "submitted"),
    ]
