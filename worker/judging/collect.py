"""Collect the rivals of an issue into one snapshot, and submit it: to the agents first where it wants alternatives."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app import comments
from app.db.session import transaction
from app.db.store.alternatives import attempts, hints, proposals
from app.db.store.issues import evaluation_alternatives, evaluations, groups
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import Asked, Evaluation, NewEvaluation
from app.db.store.issues.groups import StoredRepository
from app.db.store.queue import jobs
from app.github.errors import NotFound
from app.jobs.job import EvaluateIssue, Planned, ProposePatches, PublishVerdict, VerifyGroup
from app.policy.alternative_policy import Refused, Situation, WhyNot, wanted
from app.policy.event_policy import BY_COMMAND
from app.policy.group_policy import Go, Wait, should_evaluate
from app.settings.repo_config import FILE, Alternatives
from app.values.identifiers import EvaluationId, IssueRef, RepositoryRef
from worker.judging.rivals import Collector, Rivals, store
from worker.judging.seats import beside
from worker.judging.tree_handover import Base, Exported, HandOver
from worker.publishing import config_check
from worker.publishing.replies import Replies
from worker.queue.context import Context
from worker.queue.errors import Postponed


@dataclass(frozen=True, slots=True)
class Plan:
    """What the group has of our own agents, and what they are to add."""

    there: tuple[Alternative, ...] = ()
    more: int = 0
    due: int = 0
    """How many of them are second attempts, for which there is a hint."""
    base: Base | None = None
    """What the new ones are written for; None where there are to be none, or others are at it."""
    lack: WhyNot | None = None
    """Why there are fewer than wanted."""
    tried: int = 0
    """Attempts that the settings wanted and that were made: the group goes on without them."""

    def without_more(self, why: WhyNot | None) -> "Plan":
        """The same, with what is there."""
        return replace(self, more=0, due=0, base=None, lack=why)


@dataclass(frozen=True, slots=True)
class EvaluateIssueHandler:
    """Takes a snapshot of an issue's rivals and, if the policy says so, submits it as one group."""

    collector: Collector
    handover: HandOver
    replies: Replies
    has_agent: bool
    """A language model is there to write alternatives with."""

    def __call__(self, context: Context, job: EvaluateIssue) -> None:
        """Collect, store, decide. An issue that is gone, or a repository left behind, ends quietly."""
        with transaction(context.database) as connection:
            stored = groups.repository(connection, job.repository)
        if stored is None or stored.suspended:
            return
        try:
            rivals = self.collector.collect(context, stored, IssueRef(stored.ref, job.issue))
        except NotFound:
            return
        context.check()
        # What was never read may change our file too.
        for candidate in rivals.candidates:
            if candidate.diff is None or FILE in candidate.diff:
                config_check.look(self.replies.publisher, stored.ref, candidate.pull)
        self._submit(context, job, stored, rivals)

    def _submit(
        self, context: Context, job: EvaluateIssue, stored: StoredRepository, rivals: Rivals
    ) -> None:
        with transaction(context.database) as connection:
            plan = _plan(connection, job, rivals, has_agent=self.has_agent)
        with self._tree(stored.ref, plan) as exported:
            if plan.base is not None and exported is None:
                plan = plan.without_more(WhyNot.NO_BASE)
            context.check()
            with context.transaction() as connection:
                group = store(connection, stored.ref, rivals)
                newest = _newest(connection, group)
                decision = _decision(job, rivals, plan, newest)
                if isinstance(decision, Go):
                    groups.set_waiting(connection, group, None)
                    new = _snapshot(group, _trigger(job, newest), rivals, decision, plan)
                    context.enqueue(
                        connection, [*_freeze(connection, job, new, newest, plan, exported)]
                    )
                elif isinstance(decision, Wait):
                    groups.set_waiting(connection, group, decision.reason)
                    # Of an issue that was closed meanwhile, or of rivals that are none any more.
                    _stop(connection, evaluations.take_back(connection, group))
        self._answer(job, stored.ref, rivals, decision)

    def _tree(
        self, repository: RepositoryRef, plan: Plan
    ) -> AbstractContextManager[Exported | None]:
        if plan.base is None:
            return nullcontext()
        return self.handover.exported(repository, plan.base)

    def _answer(
        self,
        job: EvaluateIssue,
        repository: RepositoryRef,
        rivals: Rivals,
        said: Go | Wait | WhyNot,
    ) -> None:
        asked = _asked(job)
        if asked is None or isinstance(said, Go):
            return
        if isinstance(said, Wait):
            complete = rivals.facts.is_complete
            body = comments.waiting_reply(asked.where, said, all_links_read=complete)
        else:
            body = comments.no_alternative_reply(asked.where, said)
        self.replies.refuse(repository, asked.under, asked.where, body)


def _plan(connection: Connection, job: EvaluateIssue, rivals: Rivals, *, has_agent: bool) -> Plan:
    """What agents have written for this group, and are to write; nothing where it would only be judged again."""
    bases = rivals.bases()
    group = groups.group_of(connection, job.repository, job.issue)
    newest = _newest(connection, group.id) if group else None
    there: tuple[Alternative, ...] = ()
    tried = due = today = 0
    if group is not None:
        commits = [base.commit for base in bases]
        made = (group.id, commits, attempts.issue_sha256(rivals.issue))
        there = evaluation_alternatives.there(connection, *made)
        tried = attempts.tried(connection, *made)
        today = proposals.made_today(connection, group.id)
        due = len(hints.due(connection, *made))
    now = Situation(
        pulls=len(rivals.judgeable),
        tried=tried,
        spent=attempts.spent(connection, job.repository),
        has_agent=has_agent,
        today=today,
        asked=_asks_for_one(job, newest),
        due=due,
    )
    more = wanted(rivals.settings.config, now) if rivals.is_open else 0
    to_come = 0 if isinstance(more, Refused) else more - due
    there = beside(rivals, there, newest, max(0, to_come))
    made_for = 0 if rivals.settings.config.alternatives is Alternatives.OFF else tried
    if isinstance(more, Refused):
        return Plan(there, lack=more.reason, tried=made_for)
    if more and not bases:
        return Plan(there, lack=WhyNot.NO_BASE, tried=made_for)
    plan = Plan(there, more, due, bases[0] if more else None, tried=made_for)
    decision = _decision(job, rivals, plan, newest)
    if not isinstance(decision, Go):
        return plan.without_more(None)
    new = _snapshot(group.id if group else 0, "", rivals, decision, plan)
    return replace(plan, base=None) if _only_repeats(job, newest, new, plan) else plan


def _decision(
    job: EvaluateIssue, rivals: Rivals, plan: Plan, newest: Evaluation | None
) -> Go | Wait | WhyNot:
    """Whether to judge them now; a reason where an alternative was asked for and there will be none."""
    said = should_evaluate(
        rivals.settings.config,
        rivals.candidate_facts(),
        _trigger(job, newest),
        issue_is_open=rivals.is_open,
        alternatives=len(plan.there) + plan.more + plan.tried,
    )
    if isinstance(said, Go) and job.propose and plan.lack is not None:
        return plan.lack
    return said


def _snapshot(group: int, trigger: str, rivals: Rivals, go: Go, plan: Plan) -> NewEvaluation:
    """What is judged from here on, whatever changes on GitHub."""
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
        alternatives=plan.there,
        alternatives_wanted=plan.more,
        alternatives_base=plan.base.commit if plan.base else None,
        alternatives_lack=plan.lack,
    )


def _newest(connection: Connection, group: int) -> Evaluation | None:
    return evaluations.newest(connection, group, "collected", "verified", "published")


def _is_wish(evaluation: Evaluation | None) -> bool:
    """Whether a person who asked for this evaluation still waits for its verdict."""
    if evaluation is None or evaluation.state == "published":
        return False
    return evaluation.trigger == BY_COMMAND


def _asks_for_one(job: EvaluateIssue, newest: Evaluation | None) -> bool:
    """Whether a person wants an alternative; what comes in between must not lose that wish either."""
    waits = newest is not None and newest.alternatives_wanted > 0
    return job.propose or (waits and _is_wish(newest))


def _asked(job: EvaluateIssue) -> Asked | None:
    if job.asked_in is None:
        return None
    return Asked(job.asked_in, job.issue if job.asked_under is None else job.asked_under)


def _trigger(job: EvaluateIssue, newest: Evaluation | None) -> str:
    """What came in between takes over a wish that is not fulfilled: it must not lose it."""
    return BY_COMMAND if _is_wish(newest) else job.trigger


def _only_repeats(
    job: EvaluateIssue, newest: Evaluation | None, new: NewEvaluation, plan: Plan
) -> bool:
    """Whether exactly this one is judged already, or will be, and nobody asked again."""
    if newest is None or not newest.answers(new):
        return False
    if (job.propose or plan.due) and new.alternatives_wanted > newest.alternatives_wanted:
        return False
    return job.trigger != BY_COMMAND or _is_wish(newest)


def _freeze(
    connection: Connection,
    job: EvaluateIssue,
    new: NewEvaluation,
    newest: Evaluation | None,
    plan: Plan,
    exported: Exported | None,
) -> Iterator[Planned]:
    """Freeze the snapshot, unless it only repeats the newest one."""
    if newest is not None and _only_repeats(job, newest, new, plan):
        yield from _go_on(job, newest)
        return
    if new.alternatives_wanted and exported is None:
        raise Postponed("the group has changed while it was looked at", after_seconds=0)
    asked = _asked(job) or (newest.asked if newest and _is_wish(newest) else None)
    created = evaluations.create(connection, job.repository, replace(new, asked=asked))
    _stop(connection, created.superseded)
    if exported is not None:
        # Before the transaction ends, so that who reads of it finds it; if it fails, the clock sweeps.
        exported.hand_over(created.id)
    yield _next(job, created.id, new.alternatives_wanted)


def _next(job: EvaluateIssue, evaluation: EvaluationId, alternatives_wanted: int) -> Planned:
    place = (job.installation, job.repository, job.issue, evaluation)
    return Planned(ProposePatches(*place) if alternatives_wanted else VerifyGroup(*place))


def _go_on(job: EvaluateIssue, newest: Evaluation) -> Iterator[Planned]:
    """What is made of it next, in case that was kept from happening."""
    match newest.state:
        case "collected":
            yield _next(job, newest.id, newest.alternatives_wanted)
        case "verified":
            yield Planned(PublishVerdict(job.installation, job.repository, job.issue, newest.id))


def _stop(connection: Connection, replaced: Sequence[EvaluationId]) -> None:
    """Write for them and judge them no further."""
    keys = [kind.key_of(old) for old in replaced for kind in (ProposePatches, VerifyGroup)]
    jobs.supersede(connection, keys)
