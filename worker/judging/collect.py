"""Collect the rivals of an issue into a frozen group, and submit it to agents or the verifier."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app import comments, logs
from app.db.session import transaction
from app.db.store.issues import evaluations, groups
from app.db.store.issues.evaluations import Evaluation, NewEvaluation
from app.db.store.issues.groups import StoredRepository
from app.github.api.publisher import Publisher
from app.github.errors import NotFound
from app.jobs.job import EvaluateIssue, Planned
from app.policy.alternative_policy import RefusalReason
from app.policy.group_policy import EvaluateNow, WaitForMore, WaitForTomorrow, WaitForVerdict
from app.values.identifiers import IssueRef, RepositoryRef
from worker.judging.ceilings import CeilingGuard, postpone_until_tomorrow
from worker.judging.evaluation_request import (
    build_request,
    choose_trigger,
    is_wanted_by_person,
    load_newest,
)
from worker.judging.group_plan import (
    AlternativePlan,
    build_snapshot,
    decide,
    is_repeat,
    plan_alternatives,
)
from worker.judging.prepare_tests import build_suite_request
from worker.judging.rivals import RivalCollector, Rivals, save_rivals
from worker.judging.submission import (
    Submission,
    leave_for_tomorrow,
    plan_again,
    submit_group,
    supersede_jobs,
)
from worker.judging.tree_handover import BaseCommit, ExportedTree, TreeHandover, TreeRequired
from worker.publishing import config_check
from worker.publishing.early_notice import announce_rivals
from worker.publishing.replies import Replies
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class EvaluateIssueHandler:
    """Collects an issue's rivals and, if the policy allows, submits them as one group."""

    collector: RivalCollector
    tree_handover: TreeHandover
    has_agent: bool
    ceilings: CeilingGuard
    reads_code: bool = False
    """Whether the judge reads code of the base, so that each new evaluation needs its source tree."""

    def __call__(self, context: Context, job: EvaluateIssue) -> None:
        """Collect and store the issue's rivals, then submit or wait; do nothing if issue or repository is gone."""
        with transaction(context.database) as connection:
            stored = groups.load_active_repository(connection, job.repository)
        if stored is None:
            return
        github, ref = self.collector.github, IssueRef(stored.ref, job.issue)
        try:
            rivals = self.collector.collect(context, stored, ref)
        except NotFound:
            return
        rivals = self.ceilings.limit_rivals(context, job.installation, rivals)
        context.check()
        config_check.check_candidates(github, context, stored.ref, rivals.candidates)
        self._submit(context, job, stored, rivals)
        announce_rivals(github, context, ref, rivals.list_claims())

    def _submit(
        self, context: Context, job: EvaluateIssue, stored: StoredRepository, rivals: Rivals
    ) -> None:
        with transaction(context.database) as connection:
            plan = plan_alternatives(connection, job, rivals, has_agent=self.has_agent)
        try:
            base = self._find_tree_base(rivals, plan)
            decision = self._decide(context, job, stored.ref, rivals, plan, base)
        except TreeRequired as required:
            # The git fetch takes seconds and must not hold row locks, and strangers' pushes must not cost exports
            # during a pause or beyond a budget. So the transaction decides, ends, and decides again with the tree.
            with self.tree_handover.export_tree(stored.ref, required.base) as exported:
                if plan.base is not None and exported is None:
                    plan = plan.drop_new(RefusalReason.NO_BASE)
                context.check()
                decision = self._decide(context, job, stored.ref, rivals, plan, exported)
        replies = Replies(Publisher(self.collector.github, context.open_effects()))
        _reply(replies, job, stored.ref, rivals, decision)
        if isinstance(decision, WaitForTomorrow):
            raise postpone_until_tomorrow()

    def _find_tree_base(self, rivals: Rivals, plan: AlternativePlan) -> BaseCommit | None:
        """Return the commit whose source tree agents need, or a judge that reads code: the base of the first rival."""
        bases = rivals.list_bases() if self.reads_code else ()
        return plan.base or next(iter(bases), None)

    def _decide(
        self,
        context: Context,
        job: EvaluateIssue,
        repository: RepositoryRef,
        rivals: Rivals,
        plan: AlternativePlan,
        tree: BaseCommit | ExportedTree | None,
    ) -> EvaluateNow | WaitForMore | RefusalReason:
        """Decide about the group and store the decision, in one transaction under the job's fence.

        Raises TreeRequired, and stores nothing, when the group is to be judged with the tree of a commit `tree`.
        """
        planned: Sequence[Planned] = ()
        with context.transaction() as connection:
            group = save_rivals(connection, repository, rivals)
            newest = load_newest(connection, group)
            decision = decide(job, rivals, plan, newest)
            if isinstance(decision, EvaluateNow):
                new = build_snapshot(group, choose_trigger(job, newest), rivals, decision, plan)
                submission = replace(_build_submission(job, rivals, new, newest, plan), tree=tree)
                decision, planned = self._store(connection, repository, submission, decision)
            elif newest is not None and isinstance(decision, WaitForVerdict):
                # The publication of the newest evaluation plans another look.
                groups.set_waiting(connection, group, decision.reason)
                planned = plan_again(job, newest)
            elif isinstance(decision, WaitForMore):
                # The issue was closed, or its rivals left the group.
                groups.set_waiting(connection, group, decision.reason)
                supersede_jobs(connection, evaluations.supersede_unpublished(connection, group))
            # A RefusalReason changes nothing: the group keeps its evaluation.
            context.enqueue(connection, planned)
        logs.add_ids(evaluation=_find_evaluation(planned))
        return decision

    def _store(
        self,
        connection: Connection,
        repository: RepositoryRef,
        submission: Submission,
        decision: EvaluateNow,
    ) -> tuple[EvaluateNow | WaitForTomorrow, Sequence[Planned]]:
        """Submit the group, or let it wait for the next day, as the newest verdict's comment then says.

        Returns which of both happened, and the next jobs.
        """
        new = submission.new_evaluation
        held_back: EvaluateNow | WaitForTomorrow = decision
        if not submission.is_repeat:
            held_back = self.ceilings.hold_back(connection, repository, submission, decision)
        if isinstance(held_back, WaitForTomorrow):
            groups.set_waiting(connection, new.group, held_back.reason)
            return held_back, leave_for_tomorrow(connection, submission, held_back)
        groups.set_waiting(connection, new.group, None)
        return held_back, submit_group(connection, submission)


def _find_evaluation(planned: Sequence[Planned]) -> object:
    """Return the evaluation that the group's next jobs are about; None: they are about none."""
    payloads = [each.job.to_payload() for each in planned]
    return next((each["evaluation"] for each in payloads if "evaluation" in each), None)


def _reply(
    replies: Replies,
    job: EvaluateIssue,
    repository: RepositoryRef,
    rivals: Rivals,
    decision: EvaluateNow | WaitForMore | RefusalReason,
) -> None:
    asked = build_request(job)
    if asked is None or isinstance(decision, EvaluateNow):
        return
    if isinstance(decision, WaitForMore):
        complete = rivals.facts.is_complete
        body = comments.write_waiting_reply(asked.where, decision, all_links_read=complete)
    else:
        body = comments.write_no_alternative_reply(asked.where, decision)
    replies.refuse(repository, asked.under, asked.where, body)


def _build_submission(
    job: EvaluateIssue,
    rivals: Rivals,
    new: NewEvaluation,
    newest: Evaluation | None,
    plan: AlternativePlan,
) -> Submission:
    asked = build_request(job) or (newest.asked if newest and is_wanted_by_person(newest) else None)
    return Submission(
        job,
        replace(new, asked=asked),
        newest,
        is_repeat=is_repeat(job, newest, new, plan),
        quiet_seconds=rivals.settings.config.quiet_minutes * 60.0,
        most_per_day=rivals.settings.config.evaluations_per_day,
        tests=build_suite_request(rivals),
    )
