"""Plan what the agents write for a group, and whether to judge it now."""

from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app.db.store.alternatives import attempts, hints, proposals
from app.db.store.issues import evaluation_alternatives, groups
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import Evaluation, NewEvaluation
from app.jobs.job import EvaluateIssue
from app.policy.alternative_policy import NoAttempt, RefusalReason, Situation, count_wanted
from app.policy.event_policy import BY_COMMAND
from app.policy.group_policy import (
    VERDICT_FIRST,
    EvaluateNow,
    WaitForMore,
    WaitForVerdict,
    should_evaluate,
)
from app.settings.repo_config import Alternatives
from worker.judging.evaluation_request import (
    choose_trigger,
    is_alternative_wanted,
    is_verdict_outstanding,
    is_wanted_by_person,
    load_newest,
)
from worker.judging.rivals import Rivals
from worker.judging.seats import choose_seats
from worker.judging.tree_handover import BaseCommit


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


def plan_alternatives(
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
    decision = decide(job, rivals, plan, newest)
    if not isinstance(decision, EvaluateNow):
        return plan.drop_new(None)
    new = build_snapshot(group.id if group else 0, "", rivals, decision, plan)
    return replace(plan, base=None) if is_repeat(job, newest, new, plan) else plan


def decide(
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


def build_snapshot(
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
        alternatives_lack=plan.lack,
    )


def is_repeat(
    job: EvaluateIssue, newest: Evaluation | None, new: NewEvaluation, plan: AlternativePlan
) -> bool:
    """Return whether the newest evaluation covers the same group and nobody asked again."""
    if newest is None or not newest.is_repeated_by(new):
        return False
    if (job.propose or plan.second_count) and new.alternatives_wanted > newest.alternatives_wanted:
        return False
    return job.trigger != BY_COMMAND or is_wanted_by_person(newest)
