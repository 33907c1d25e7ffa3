"""An evaluation that waits for agents, agents that do as they are told, and what is left behind."""

from sqlalchemy import select

from app.db.session import transaction
from app.db.store.alternatives import attempts
from app.db.store.issues import evaluations, groups
from app.db.store.issues.evaluations import NewEvaluation
from app.db.tables.schema import attempts as attempt_table
from app.jobs.job import ProposePatches
from model.agents.trajectories.trajectory import StopReason
from model.domain import Issue, Tokens
from model.engines.scripted import ScriptedEngine
from tests.builders.history import stored_verdict
from tests.builders.worker_scene import build_diff as patch
from tests.model.agents.builders import build_attempt, build_step
from worker.agents.propose import AgentSetup, ProposePatchesHandler

ISSUE = Issue("Crash", "On empty")
STEP = build_step(tokens=Tokens(100, 40, 10), seconds=1.5)


def store_waiting_evaluation(database, trees, wanted=3):
    with transaction(database) as connection:
        group = stored_verdict.settle(connection)
        rival = stored_verdict.build_candidate(stored_verdict.LATE, patch("w - h"))
        new = NewEvaluation(
            group,
            "issue",
            "advisory",
            4,
            ISSUE.title,
            ISSUE.body,
            (rival,),
            alternatives_wanted=wanted,
            tree_base=stored_verdict.BASE,
        )
        made = evaluations.create(connection, stored_verdict.REPOSITORY, new).id
    tree = trees.directory / "tree"
    tree.mkdir(parents=True)
    trees.offer(tree, made)
    return ProposePatches(
        stored_verdict.INSTALLATION, stored_verdict.REPOSITORY, stored_verdict.ISSUE, made
    )


def agents(trees, run):
    """The handler, with agents that do what `run` does."""
    return ProposePatchesHandler(trees, lambda: AgentSetup("mini-se", ScriptedEngine([])), run)


def build_writing_agents(*patches):
    """Agents that hand in these, one after the other; None: nothing."""

    def run(_tree, issue, *, seeds, on_step, ledger, **_more):
        for at in range(len(seeds)):
            on_step(at, STEP)
            ledger.tokens += 70
        ledger.finished = tuple(
            build_attempt(
                issue=issue,
                seed=seed,
                steps=(STEP,),
                patch=one,
                stop=StopReason.SUBMITTED if one else StopReason.ROUNDS,
            )
            for seed, one in zip(seeds, patches, strict=True)
        )
        return ledger.finished

    return run


def load_evaluation(database, job):
    with transaction(database) as connection:
        return evaluations.load(connection, job.evaluation)


def rows(database):
    with transaction(database) as connection:
        return list(connection.execute(select(attempt_table).order_by(attempt_table.c.id)))


def sum_cost(database):
    with transaction(database) as connection:
        return attempts.sum_cost(connection, stored_verdict.REPOSITORY)


def count_tried(database, job):
    with transaction(database) as connection:
        group = groups.find_group(connection, job.repository, job.issue)
        digest = attempts.hash_issue(ISSUE)
        return attempts.count_tried(connection, group.id, [stored_verdict.BASE], digest)
