"""Collect the rivals of an issue into a frozen group, and submit it to agents or the verifier."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app import comments
from app.db.session import transaction
from app.db.store.alternatives import attempts, hints, proposals
from app.db.store.issues import evaluation_alternatives, evaluations, groups
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import Evaluation, NewEvaluation
from app.db.store.issues.groups import StoredRepository
from app.github.api.publisher import Publisher
from app.github.errors import NotFound
from app.jobs.job import EvaluateIssue
from app.policy.alternative_policy import NoAttempt, RefusalReason, Situation, count_wanted
from app.policy.event_policy import BY_COMMAND
from app.policy.group_policy import (
    VERDICT_FIRST,
    EvaluateNow,
    WaitForMore,
    WaitForTomorrow,
    WaitForVerdict,
    should_evaluate,
)
from app.settings.repo_config import Alternatives
from app.values.identifiers import IssueRef, RepositoryRef
from worker.judging.ceilings import CeilingGuard, postpone_until_tomorrow
from worker.judging.evaluation_request import (
    build_request,
    choose_trigger,
    is_alternative_wanted,
    is_verdict_outstanding,
    is_wanted_by_person,
    load_newest,
)
from worker.judging.prepare_tests import build_suite_request
from worker.judging.rivals import RivalCollector, Rivals, save_rivals
from worker.judging.seats import choose_seats
from worker.judging.submission import (
    Submission,
    leave_for_tomorrow,
    plan_again,
    submit_group,
    supersede_jobs,
)
from worker.judging.tree_handover import BaseCommit, ExportedTree, TreeHandover
from worker.publishing import config_check
from worker.publishing.early_notice import announce_rivals
from worker.publishing.replies import Replies
from worker.queue.context import Context


@dataclass(frozen=True, slots=True)
class AlternativePlan:
    """A group's alternatives, and how many more the agents will write for it."""

    alternatives: tuple[Alternative, ...] = ()
    new_count: int = 0
    second_count: int = 0
    """How many of the new ones are second attempts."""
    base: BaseCommit | None = None
    """The commit for new alternatives. None: none are to be written, or the newest evaluation covers the group."""
    lack: RefusalReason | None = None
    tried: int = 0
    """Attempts for this issue text on these commits, failed ones included."""

    def drop_new(self, why: RefusalReason | None) -> "AlternativePlan":
        """Return a copy of this plan without new alternatives; `why` is the reason that the comment shows."""
        return replace(self, new_count=0, second_count=0, base=None, lack=why)


@dataclass(frozen=True, slots=True)
class EvaluateIssueHandler:
    """Collects an issue's rivals and, if the policy allows, submits them as one group."""

    collector: RivalCollector
    tree_handover: TreeHandover
    has_agent: bool
    ceilings: CeilingGuard

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
            # First decision, outside the fenced transaction: whether to export a tree. The git fetch
            # takes seconds and must not hold row locks.
            plan = _plan_alternatives(connection, job, rivals, has_agent=self.has_agent)
        with self._open_tree(stored.ref, plan) as exported:
            if plan.base is not None and exported is None:
                plan = plan.drop_new(RefusalReason.NO_BASE)
            context.check()
            with context.transaction() as connection:
                # Second decision, under the fence: rows may have changed during the fetch. If a tree is
                # missing now, `submit_group` postpones the job, which then decides both times again.
                group = save_rivals(connection, stored.ref, rivals)
                newest = load_newest(connection, group)
                decision = _decide(job, rivals, plan, newest)
                if isinstance(decision, EvaluateNow):
                    trigger = choose_trigger(job, newest)
                    new = _build_snapshot(group, trigger, rivals, decision, plan)
                    submission = _build_submission(job, rivals, new, newest, plan)
                    decision = self._store(
                        context, connection, stored.ref, submission, decision, exported
                    )
                elif newest is not None and isinstance(decision, WaitForVerdict):
                    # The publication of the newest evaluation plans another look.
                    groups.set_waiting(connection, group, decision.reason)
                    context.enqueue(connection, plan_again(job, newest))
                elif isinstance(decision, WaitForMore):
                    # The issue was closed, or its rivals left the group.
                    groups.set_waiting(connection, group, decision.reason)
                    supersede_jobs(connection, evaluations.supersede_unpublished(connection, group))
                # A RefusalReason changes nothing: the group keeps its evaluation.
        replies = Replies(Publisher(self.collector.github, context.open_effects()))
        _reply(replies, job, stored.ref, rivals, decision)
        if isinstance(decision, WaitForTomorrow):
            raise postpone_until_tomorrow()

    def _store(
        self,
        context: Context,
        connection: Connection,
        repository: RepositoryRef,
        submission: Submission,
        decision: EvaluateNow,
        exported: ExportedTree | None,
    ) -> EvaluateNow | WaitForTomorrow:
        """Submit the group; or return that it waits for the next day, as the newest verdict's comment then says."""
        new = submission.new_evaluation
        held_back: EvaluateNow | WaitForTomorrow = decision
        if not submission.is_repeat:
            held_back = self.ceilings.hold_back(connection, repository, submission, decision)
        if isinstance(held_back, WaitForTomorrow):
            groups.set_waiting(connection, new.group, held_back.reason)
            planned = leave_for_tomorrow(connection, submission, held_back)
        else:
            groups.set_waiting(connection, new.group, None)
            planned = submit_group(connection, submission, exported)
        context.enqueue(connection, planned)
        return held_back

    def _open_tree(
        self, repository: RepositoryRef, plan: AlternativePlan
    ) -> AbstractContextManager[ExportedTree | None]:
        if plan.base is None:
            return nullcontext()
        return self.tree_handover.export_tree(repository, plan.base)


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


def _plan_alternatives(
    connection: Connection, job: EvaluateIssue, rivals: Rivals, *, has_agent: bool
) -> AlternativePlan:
    """Plan the group's alternatives; no commit for new ones when the newest evaluation covers the group."""
    bases = rivals.list_bases()
    group = groups.find_group(connection, job.repository, job.issue)
    newest = load_newest(connection, group.id) if group else None
    rivals = replace(rivals, is_commanded=choose_trigger(job, newest) == BY_COMMAND)
    alternatives: tuple[Alternative, ...] = ()
    tried = second_count = today = 0
    if group is not None:
        commits = [base.commit for base in bases]
        key = (group.id, commits, attempts.hash_issue(rivals.issue))
        alternatives = evaluation_alternatives.list_of_group(connection, *key)
        tried = attempts.count_tried(connection, *key)
        today = proposals.count_today(connection, group.id)
        second_count = len(hints.find_due(connection, *key))
    now = Situation(
        pulls=len(rivals.judgeable),
        tried=tried,
        spent=attempts.sum_cost(connection, job.repository),
        has_agent=has_agent,
        today=today,
        asked=is_alternative_wanted(job, newest),
        due=second_count,
    )
    new_count = count_wanted(rivals.settings.config, now) if rivals.is_open else 0
    to_come = 0 if isinstance(new_count, NoAttempt) else new_count - second_count
    alternatives = choose_seats(rivals, alternatives, newest, max(0, to_come))
    made_for = 0 if rivals.settings.config.alternatives is Alternatives.OFF else tried
    if isinstance(new_count, NoAttempt):
        return AlternativePlan(alternatives, lack=new_count.reason, tried=made_for)
    if new_count and not bases:
        return AlternativePlan(alternatives, lack=RefusalReason.NO_BASE, tried=made_for)
    plan = AlternativePlan(
        alternatives, new_count, second_count, bases[0] if new_count else None, tried=made_for
    )
    decision = _decide(job, rivals, plan, newest)
    if not isinstance(decision, EvaluateNow):
        return plan.drop_new(None)
    new = _build_snapshot(group.id if group else 0, "", rivals, decision, plan)
    return replace(plan, base=None) if _is_repeat(job, newest, new, plan) else plan


def _decide(
    job: EvaluateIssue, rivals: Rivals, plan: AlternativePlan, newest: Evaluation | None
) -> EvaluateNow | WaitForMore | RefusalReason:
    """Decide whether to judge now, or return why a requested alternative cannot be written."""
    if newest is not None and is_verdict_outstanding(newest, job, rivals):
        return WaitForVerdict(VERDICT_FIRST)
    decision = should_evaluate(
        rivals.settings.config,
        rivals.list_candidate_facts(),
        choose_trigger(job, newest),
        issue_is_open=rivals.is_open,
        alternatives=len(plan.alternatives) + plan.new_count + plan.tried,
        is_paused=rivals.is_paused,
    )
    if isinstance(decision, EvaluateNow) and job.propose and plan.lack is not None:
        return plan.lack
    return decision


def _build_snapshot(
    group: int, trigger: str, rivals: Rivals, go: EvaluateNow, plan: AlternativePlan
) -> NewEvaluation:
    """Build the frozen group: later changes on GitHub do not affect it."""
    return NewEvaluation(
        group=group,
        trigger=trigger,
        mode=rivals.settings.config.mode.value,
        votes=rivals.settings.config.votes,
        title=rivals.facts.title,
        body=rivals.facts.body,
        candidates=tuple(c for c in rivals.candidates if c.pull in go.candidates),
        left_out=go.left_out,
        all_links_read=rivals.facts.is_complete,
        alternatives=plan.alternatives,
        alternatives_wanted=plan.new_count,
        alternatives_base=plan.base.commit if plan.base else None,
        alternatives_lack=plan.lack,
    )


def _is_repeat(
    job: EvaluateIssue, newest: Evaluation | None, new: NewEvaluation, plan: AlternativePlan
) -> bool:
    """Return whether the newest evaluation covers the same group and nobody asked again."""
    if newest is None or not newest.is_repeated_by(new):
        return False
    if (job.propose or plan.second_count) and new.alternatives_wanted > newest.alternatives_wanted:
        return False
    return job.trigger != BY_COMMAND or is_wanted_by_person(newest)


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
        is_repeat=_is_repeat(job, newest, new, plan),
        quiet_seconds=rivals.settings.config.quiet_minutes * 60.0,
        most_per_day=rivals.settings.config.evaluations_per_day,
        tests=build_suite_request(rivals),
    )
