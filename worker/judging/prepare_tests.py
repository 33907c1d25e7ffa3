"""Prepare the tests of an evaluation: check that they may run, and hand the base's source tree to their worker."""

from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.evidence import group_tests, reproduction_tests
from app.db.store.evidence.group_tests import SuiteOutcome, SuiteRequest
from app.db.store.evidence.reproduction_tests import WritingTask
from app.db.store.issues import evaluations, groups
from app.db.store.queue import installation_controls
from app.jobs.job import Planned
from app.jobs.suite_jobs import PrepareTests, RunTests, WriteTests
from app.policy.ceilings import explain_reached_ceiling, override_ceilings
from app.policy.event_policy import BY_COMMAND
from app.settings import CeilingSettings, SuiteSettings
from model.domain import Issue
from model.reproduction.test_writing import find_tree_example
from worker.judging.rivals import Rivals
from worker.judging.tree_handover import BaseCommit, TreeHandover
from worker.queue.context import Context

SWITCHED_OFF = "the operator of this bot runs no tests"
WRITING_SWITCHED_OFF = "the operator of this bot lets no model write tests"
NO_MODEL = "this bot has no language model that could write them"
NOT_WAITING = "nobody waits for them any more"


@dataclass(frozen=True, slots=True)
class PrepareTestsHandler:
    """Exports the tree of the base and plans the tests, or stores why there are none."""

    handover: TreeHandover
    settings: SuiteSettings
    ceilings: CeilingSettings
    has_model: bool = False
    """Whether the bot has a language model that can write tests for an issue."""

    def __call__(self, context: Context, job: PrepareTests) -> None:
        """Hand over the source tree and plan the tests, unless they are over or may not run."""
        with transaction(context.database) as connection:
            stored = groups.load_active_repository(connection, job.repository)
            tests = group_tests.load(connection, job.evaluation)
        if stored is None or tests is None or tests.finished_at is not None:
            return
        wanted = tests.request
        why = self._find_refusal(context, job)
        if why is not None or wanted.base_branch is None or wanted.base_sha is None:
            self._give_up(context, job, why or "no pull request of the group has a base")
            return
        base = BaseCommit(wanted.base_branch, wanted.base_sha)
        with self.handover.export_tree(stored.ref, base) as exported:
            if exported is None:
                why = f"the base commit {wanted.base_sha[:7]} cannot be read any more"
                self._give_up(context, job, why)
                return
            task = self._plan_writing(context, job, exported.tree) if wanted.reproduction else None
            place = (job.installation, job.repository, job.issue, job.evaluation)
            with context.transaction() as connection:
                exported.hand_over(job.evaluation)
                group_tests.start(connection, job.evaluation)
                is_asked = task is not None and _request_scripts(connection, job, task)
                planned = [WriteTests(*place)] if is_asked else []
                context.enqueue(
                    connection, [Planned(each) for each in (*planned, RunTests(*place))]
                )

    def _plan_writing(self, context: Context, job: PrepareTests, tree: Path) -> WritingTask | str:
        """Return what the engine writes for the group's issue, or why it writes nothing.

        Only this process has tree and issue, so it looks for the test file that the engine sees.
        """
        if not self.settings.reproduction_tests:
            return WRITING_SWITCHED_OFF
        if not self.has_model:
            return NO_MODEL
        with transaction(context.database) as connection:
            limits = installation_controls.read_limits(connection, job.installation)
            usage = installation_controls.read_daily_usage(connection, job.repository)
            evaluation = evaluations.load(connection, job.evaluation)
        if evaluation is None:
            return NOT_WAITING
        why = explain_reached_ceiling(
            override_ceilings(self.ceilings, limits),
            replace(usage, repository_evaluations=0, installation_evaluations=0),
            is_commanded=evaluation.trigger == BY_COMMAND,
        )
        if why is not None:
            return why
        issue = Issue(evaluation.title, evaluation.body)
        return WritingTask(self.settings.reproduction_tests, find_tree_example(tree, issue))

    def _give_up(self, context: Context, job: PrepareTests, why: str) -> None:
        with context.transaction() as connection:
            group_tests.finish(connection, job.evaluation, SuiteOutcome(failure=why))

    def _find_refusal(self, context: Context, job: PrepareTests) -> str | None:
        """Return why the tests may not run; None if they may."""
        if self.settings.tests is None:
            return SWITCHED_OFF
        with transaction(context.database) as connection:
            limits = installation_controls.read_limits(connection, job.installation)
            used = group_tests.count_today(connection, job.installation)
        most = override_ceilings(self.ceilings, limits).max_test_groups_per_installation_day
        if used >= most:
            return f"the operator's daily budget of {most:,} groups with tests is used up"
        return None


def _request_scripts(connection: Connection, job: PrepareTests, task: WritingTask | str) -> bool:
    """Store what the engine is asked for, or why it is not asked; return whether it is asked.

    Scripts for the same issue text on the same base are used again.
    """
    if isinstance(task, str):
        reproduction_tests.request(connection, job.evaluation, task)
        return False
    if reproduction_tests.copy_scripts(connection, job.evaluation, task.tests):
        return False
    reproduction_tests.request(connection, job.evaluation, task)
    return True


def build_suite_request(rivals: Rivals) -> SuiteRequest | None:
    """Return the tests that the repository wants for this group, on the base of its first rival; None: it wants none."""
    tests, bases = rivals.settings.config.tests, rivals.list_bases()
    if tests is None:
        return None
    base = bases[0] if bases else None
    return SuiteRequest(
        tests.command,
        tests.environment,
        tests.seconds,
        base.branch if base else None,
        base.commit if base else None,
        tests.reproduction,
    )
