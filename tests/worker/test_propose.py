"""What agents write becomes rivals; whatever becomes of the agents, the group is judged, and the bill is kept."""

import threading
import time
import zlib
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from app.alternatives import Spent, WhyNot
from app.db.session import transaction
from app.db.store import attempts, evaluations, groups, jobs
from app.db.store.candidates import Candidate
from app.db.store.evaluations import NewEvaluation
from app.db.store.jobs import Fenced
from app.db.tables import attempts as attempt_table
from app.db.tables import evaluations as evaluation_table
from app.jobs import Planned, ProposePatches, VerifyGroup
from app.repo_config import WITHOUT_FILE
from app.sandbox import Sandbox
from model.agents.guidance import Source, guided
from model.agents.trajectory import Stop
from model.agents.trajectory_json import loaded
from model.domain import Issue, Tokens
from model.engines.scripted import Scripted
from model.errors import EngineDown, Superseded
from tests.app.db.store import world
from tests.model.agents.builders import make_attempt, make_step
from tests.worker.attempts import carry_out, waiting
from worker import agent_budget
from worker.agent_process import AgentFailed
from worker.context import Context
from worker.errors import Postponed
from worker.propose import ProposePatchesHandler, Workshop
from worker.trees import Trees

pytestmark = pytest.mark.services

ISSUE = Issue("Crash", "On empty")
STEP = make_step(tokens=Tokens(100, 40, 10), seconds=1.5)


def patch(result):
    return (
        "diff --git a/area.py b/area.py\n--- a/area.py\n+++ b/area.py\n"
        f"@@ -1,2 +1,2 @@\n def area(w, h):\n-    return w + h\n+    return {result}\n"
    )


@pytest.fixture
def trees(tmp_path):
    return Trees(tmp_path / "trees")


@pytest.fixture
def job(database, trees):
    """An evaluation of one pull request that waits for three alternatives, with its tree."""
    return waits_for_agents(database, trees)


def waits_for_agents(database, trees, wanted=3):
    with transaction(database) as connection:
        group = world.settle(connection)
        rival = Candidate(world.LATE, world.head_of(world.LATE), world.BASE, patch("w - h"), 1)
        new = NewEvaluation(
            group,
            "issue",
            "advisory",
            4,
            ISSUE.title,
            ISSUE.body,
            (rival,),
            alternatives_wanted=wanted,
            alternatives_base=world.BASE,
        )
        made = evaluations.create(connection, world.REPOSITORY, new).id
    tree = trees.directory / "tree"
    tree.mkdir(parents=True)
    trees.offer(tree, made)
    return ProposePatches(world.INSTALLATION, world.REPOSITORY, world.ISSUE, made)


def agents(trees, run):
    """The handler, with agents that do what `run` does."""
    return ProposePatchesHandler(
        trees, lambda: Workshop("mini-se", Scripted([]), Sandbox.BUBBLEWRAP), run
    )


def writing(*patches):
    """Agents that hand in these, one after the other; None: nothing."""

    def run(_tree, issue, *, seeds, on_step, bill, **_more):
        for at in range(len(seeds)):
            on_step(at, STEP)
            bill.tokens += 70
        bill.finished = tuple(
            make_attempt(
                issue=issue,
                seed=seed,
                steps=(STEP,),
                patch=one,
                stop=Stop.SUBMITTED if one else Stop.ROUNDS,
            )
            for seed, one in zip(seeds, patches, strict=True)
        )
        return bill.finished

    return run


def loaded_evaluation(database, job):
    with transaction(database) as connection:
        return evaluations.load(connection, job.evaluation)


def rows(database):
    with transaction(database) as connection:
        return list(connection.execute(select(attempt_table).order_by(attempt_table.c.id)))


def spent(database):
    with transaction(database) as connection:
        return attempts.spent(connection, world.REPOSITORY)


def tried(database, job):
    with transaction(database) as connection:
        group = groups.group_of(connection, job.repository, job.issue)
        digest = attempts.issue_sha256(ISSUE)
        return attempts.tried(connection, group.id, [world.BASE], digest)


def test_new_edits_become_rivals_and_every_attempt_is_kept(database, trees, job):
    before = loaded_evaluation(database, job)
    carry_out(database, agents(trees, writing(patch("w * h"), patch("w - h"), patch("h * w"))), job)
    after = loaded_evaluation(database, job)
    assert [one.id for one in after.alternatives] == ["A1", "A2"]
    assert [one.diff for one in after.alternatives] == [patch("w * h"), patch("h * w")]
    assert {(one.agent, one.steps, one.base_sha) for one in after.alternatives} == {
        ("mini-se", 1, world.BASE)
    }
    assert (after.alternatives_wanted, after.alternatives_lack) == (0, WhyNot.SAME)
    assert after.fingerprint != before.fingerprint
    assert waiting(database) == [VerifyGroup(**job.payload())]
    kept = rows(database)
    assert [(row.number, row.seed, row.stop) for row in kept] == [
        (1, 0, "submitted"),
        (None, 1, "submitted"),
        (2, 2, "submitted"),
    ]
    assert loaded(zlib.decompress(kept[0].trajectory)).patch == patch("w * h")
    assert spent(database).tokens == 3 * 70
    assert trees.find(job.evaluation) is None


def test_whenever_it_dies_the_group_is_judged_once(twice, tmp_path):
    """With alternatives or, where the process died at work, without."""
    trees = Trees(tmp_path / "trees")
    handler = agents(trees, writing(patch("w * h"), None, None))

    def observe(database):
        with transaction(database) as connection:
            wanted = connection.scalar(select(evaluation_table.c.alternatives_wanted))
        lying = [path.name for path in trees.directory.iterdir()]
        return wanted, [one.kind for one in waiting(database)], lying

    left = twice(handler, lambda database: waits_for_agents(database, trees), observe)
    assert left == (0, ["verify_group"], [])


def test_an_agent_that_dies_leaves_what_was_over_and_the_bill_of_the_rest(database, trees, job):
    def run(_tree, issue, *, seeds, on_step, bill, **_more):
        on_step(0, STEP)
        on_step(1, STEP)
        on_step(1, STEP)
        over = make_attempt(
            issue=issue, seed=seeds[0], steps=(STEP,), patch=patch("w * h"), stop=Stop.SUBMITTED
        )
        bill.finished, bill.tokens = (over,), 3 * 70
        time.sleep(0.2)
        raise AgentFailed("killed by signal 9")

    carry_out(database, agents(trees, run), job)
    after = loaded_evaluation(database, job)
    assert [one.id for one in after.alternatives] == ["A1"]
    assert (after.alternatives_wanted, after.alternatives_lack) == (0, WhyNot.CRASHED)
    kept = [(row.stop, row.steps, row.failure) for row in rows(database)]
    assert kept == [
        ("submitted", 1, None),
        ("crashed", 2, "killed by signal 9"),
        ("crashed", 0, "killed by signal 9"),
    ]
    assert [row.prompt_tokens for row in rows(database)] == [100, 200, 0]
    assert spent(database).tokens == 3 * 70
    assert spent(database).seconds > 3 * 0.2
    assert tried(database, job) == 1
    assert [one.kind for one in waiting(database)] == ["verify_group"]


@pytest.mark.parametrize("error", [EngineDown("connection refused"), AgentFailed("no bubblewrap")])
def test_without_an_engine_or_walls_the_group_goes_on(database, trees, job, error):
    def run(*_tree, bill, **_more):
        bill.tokens = 50
        raise error

    carry_out(database, agents(trees, run), job)
    after = loaded_evaluation(database, job)
    why = WhyNot.ENGINE if isinstance(error, EngineDown) else WhyNot.CRASHED
    assert (after.alternatives, after.alternatives_lack) == ((), why)
    assert tried(database, job) == 0
    assert spent(database).tokens == 50
    assert [one.kind for one in waiting(database)] == ["verify_group"]


def test_without_a_model_the_group_goes_on(database, trees, job):
    def no_model():
        raise EngineDown("no model is there")

    carry_out(database, ProposePatchesHandler(trees, no_model, writing()), job)
    assert loaded_evaluation(database, job).alternatives_lack is WhyNot.ENGINE
    assert rows(database) == []


def test_a_tree_that_is_gone_is_a_reason(database, trees, job):
    trees.discard(job.evaluation)
    carry_out(database, agents(trees, writing()), job)
    assert loaded_evaluation(database, job).alternatives_lack is WhyNot.NO_TREE


def test_what_was_spent_since_it_was_planned_counts(database, trees, job):
    with transaction(database) as connection:
        config = "version: 1\nalternatives_budget: {tokens: 0}\n"
        groups.save_config(connection, job.repository, text=config, error=None)
    carry_out(database, agents(trees, writing()), job)
    assert loaded_evaluation(database, job).alternatives_lack is WhyNot.BUDGET
    assert rows(database) == []


def test_agents_get_what_is_left_of_the_budget(database, trees, job):
    given = []

    def run(*tree, limits, **more):
        given.append(limits)
        return writing(None, None, None)(*tree, **more)

    with transaction(database) as connection:
        config = "version: 1\nalternatives_budget: {tokens: 1000, seconds: 90}\n"
        groups.save_config(connection, job.repository, text=config, error=None)
    carry_out(database, agents(trees, run), job)
    assert [(one.tokens, one.seconds) for one in given] == [(1000, 30.0)]


def test_what_took_the_process_down_once_is_not_tried_again(database, trees, job):
    with transaction(database) as connection:
        (stored,) = jobs.enqueue(connection, [Planned(job)])
    claimed = replace(jobs.claim(database, stored.id, 60), attempt=2)
    context = Context(database, claimed, threading.Event(), lambda: False)
    agents(trees, writing())(context, job)
    assert loaded_evaluation(database, job).alternatives_lack is WhyNot.CRASHED


def test_agents_nobody_waits_for_stop_and_are_paid(database, trees, job):
    lost = threading.Event()

    def run(_tree, _issue, *, on_step, bill, **_more):
        lost.set()
        bill.tokens = 70
        on_step(0, STEP)

    with transaction(database) as connection:
        (stored,) = jobs.enqueue(connection, [Planned(job)])
    context = Context(database, jobs.claim(database, stored.id, 60), lost, lambda: False)
    with pytest.raises(Superseded):
        agents(trees, run)(context, job)
    assert [(row.stop, row.number) for row in rows(database)] == [("taken_back", None)] * 3
    assert spent(database).tokens == 70
    assert tried(database, job) == 0
    assert waiting(database) == []


def test_an_evaluation_that_was_replaced_is_left_alone(database, trees, job):
    with transaction(database) as connection:
        evaluations.mark_superseded(connection, job.evaluation)
    carry_out(database, agents(trees, writing()), job)
    assert (rows(database), waiting(database)) == ([], [])
    assert trees.find(job.evaluation) is None


def test_what_was_written_when_newer_work_came_is_paid(database, trees, job):
    def run(*tree, **more):
        done = writing(patch("w * h"), None, None)(*tree, **more)
        with transaction(database) as connection:
            jobs.supersede(connection, [job.key])
        return done

    with pytest.raises(Fenced):
        carry_out(database, agents(trees, run), job)
    assert [(row.stop, row.number) for row in rows(database)] == [("taken_back", None)] * 3
    assert (spent(database).tokens, tried(database, job)) == (3 * 70, 0)
    assert loaded_evaluation(database, job).alternatives == ()
    assert trees.find(job.evaluation) is None


def test_two_jobs_do_not_spend_the_same_budget(database, trees, job):
    """What an agent at work may cost is nobody else's meanwhile; who finds nothing left waits for its end."""

    def run(*tree, limits, **more):
        with transaction(database) as connection:
            at_work = attempts.spent(connection, job.repository, at_work=True)
        assert at_work == Spent(limits.tokens, limits.seconds * 3)
        assert spent(database) == Spent()
        with transaction(database) as connection, pytest.raises(Postponed, match="at work"):
            agent_budget.begun(connection, job.repository, WITHOUT_FILE, 1, waits=True)
        with transaction(database) as connection:
            more_of_it = (connection, job.repository, WITHOUT_FILE, 1)
            assert agent_budget.begun(*more_of_it, waits=False) is None
        return writing(None, None, None)(*tree, **more)

    carry_out(database, agents(trees, run), job)
    assert spent(database).tokens == 3 * 70
    with transaction(database) as connection:
        again = agent_budget.begun(connection, job.repository, WITHOUT_FILE, 1, waits=True)
    assert again.limits.tokens == 200_000 - 3 * 70


def test_who_asks_at_once_waits_for_the_lock(database, job):
    begun = []

    def begin():
        with transaction(database) as connection:
            one = agent_budget.begun(connection, job.repository, WITHOUT_FILE, 1, waits=False)
            begun.append(one)

    with transaction(database) as connection:
        first = agent_budget.begun(connection, job.repository, WITHOUT_FILE, 3, waits=True)
        second = threading.Thread(target=begin)
        second.start()
        second.join(0.5)
        assert begun == []
    second.join(10)
    assert first.limits.tokens == 200_000
    assert begun == [None]


def test_a_worker_that_is_killed_leaves_what_it_might_have_cost(database, trees, job, monkeypatch):
    with transaction(database) as connection:
        agent_budget.begun(connection, job.repository, WITHOUT_FILE, 1, waits=True)
    assert spent(database) == Spent()
    monkeypatch.setattr(attempts, "LONGEST_RUN", timedelta(0))
    assert spent(database) == Spent(200_000, 1_800)
    carry_out(database, agents(trees, writing()), job)
    assert loaded_evaluation(database, job).alternatives_lack is WhyNot.BUDGET


def test_what_hangs_costs_its_time_whatever_is_raised(database, trees, job):
    def run(*_tree, bill, **_more):
        time.sleep(0.2)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        carry_out(database, agents(trees, run), job)
    assert spent(database).seconds > 3 * 0.2
    assert trees.find(job.evaluation) is None


def test_an_agent_does_not_say_itself_that_its_budget_is_used_up(database, trees, job):
    def run(_tree, issue, *, seeds, bill, **_more):
        bill.is_used_up = len(seeds) == 1
        said = "the 5 tokens that this work may cost are used up"
        return tuple(
            make_attempt(issue=issue, seed=seed, stop=Stop.ENGINE, failure=said) for seed in seeds
        )

    carry_out(database, agents(trees, run), job)
    assert [row.stop for row in rows(database)] == ["engine"] * 3
    assert loaded_evaluation(database, job).alternatives_lack is WhyNot.ENGINE


def test_a_patch_that_repeats_its_hint_is_kept_and_not_judged(database, trees, job):
    hint = guided(Source.MAINTAINER, "the width may never be wider than zebra stripes")

    def run(_tree, issue, *, seeds, **_more):
        return tuple(
            make_attempt(
                issue=issue, seed=seed, patch=patch(code), guidance=hint, stop=Stop.SUBMITTED
            )
            for seed, code in zip(seeds, ["w * h", f"0  # {hint.feedback}", "h * w"], strict=True)
        )

    carry_out(database, agents(trees, run), job)
    after = loaded_evaluation(database, job)
    assert [one.diff for one in after.alternatives] == [patch("w * h"), patch("h * w")]
    assert after.alternatives_lack is WhyNot.QUOTES_HINT
    assert [(row.number, row.stop) for row in rows(database)] == [
        (1, "submitted"),
        (None, "quotes_hint"),
        (2, "submitted"),
    ]
