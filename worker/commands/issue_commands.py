"""What each command about an issue does, once its author is known to have the right."""

from dataclasses import dataclass, replace

from sqlalchemy import Connection

from app import comments
from app.comments import AlternativesStatus, GroupView, Stage, StatusView
from app.db.session import transaction
from app.db.store.alternatives import attempts, drafts
from app.db.store.alternatives.drafts import Asked
from app.db.store.issues import evaluations, groups
from app.db.store.issues.evaluations import Evaluation
from app.db.store.issues.groups import GroupRow
from app.db.store.queue import jobs, progress
from app.db.store.queue.effects import PostgresEffects, comment_key
from app.github.api.effect_store import EffectKey
from app.github.http.connection import Connection as GitHub
from app.jobs.draft_jobs import OpenDraft
from app.jobs.job import EvaluateIssue, Planned, ProposePatches, PublishVerdict, VerifyGroup
from app.policy.alternative_policy import Refused, WhyNot, remaining
from app.policy.commands import Command, GroupEdit, Verb
from app.policy.draft_policy import refused
from app.policy.event_policy import BY_COMMAND
from app.settings.repo_config import Alternatives
from app.values.identifiers import (
    AskedIn,
    CommentId,
    DeliveryGuid,
    EvaluationId,
    IssueNumber,
    IssueRef,
    RepositoryRef,
)
from worker.outcomes import second_attempts
from worker.outcomes.second_attempts import Words
from worker.publishing.publish_verdict import comment_url
from worker.publishing.verdict_view import NOT_FINISHED, members_of, verdict_view
from worker.queue.context import Context
from worker.repositories.repository_config import last_good


@dataclass(frozen=True, slots=True)
class Said:
    """What a command came to."""

    text: str = ""
    """The answer's words; empty: the reaction says it all."""
    done: bool = True


@dataclass(frozen=True, slots=True)
class Subject:
    """The issue a command is about, and where it was written."""

    repository: RepositoryRef
    issue: IssueNumber
    asked_in: AskedIn
    asked_under: int
    """Under which issue or pull request it was written."""
    delivery: DeliveryGuid
    author: str
    """Whose command it is."""


@dataclass(frozen=True, slots=True)
class Writer:
    """The agent that writes alternatives, as people are told of it."""

    agent: str
    model: str | None
    """None: the only one that the engine has."""


@dataclass(frozen=True, slots=True)
class Verbs:
    """Carries commands out; each may run twice and then changes nothing more."""

    github: GitHub
    writer: Writer | None = None
    """Who writes alternatives; None: nobody can."""
    may_open: bool = False
    """A second App is there, which opens draft pull requests."""

    def carry_out(self, context: Context, subject: Subject, command: Command) -> Said:
        """Do what the command says."""
        whole = {
            Verb.VERIFY: self._verify,
            Verb.STATUS: self._status,
            Verb.PROPOSE: self._propose,
        }
        if command.verb in whole:
            return whole[command.verb](context, subject)
        named = {Verb.EXPLAIN: self._explain, Verb.GROUP: self._group, Verb.OPEN: self._open}
        return named.get(command.verb, self._opinion)(context, subject, command)

    def _verify(self, context: Context, subject: Subject) -> Said:
        with context.transaction() as connection:
            _evaluate(context, connection, subject)
        return Said()

    def _propose(self, context: Context, subject: Subject) -> Said:
        """What can be said no to is said no to at once; the rest is found out when the issue is looked at."""
        with context.transaction() as connection:
            stored = groups.repository(connection, subject.repository.id)
            spent = attempts.spent(connection, subject.repository.id)
            if self.writer is None:
                reply = comments.not_proposing_reply(subject.asked_in, WhyNot.NO_AGENT)
                return Said(reply, done=False)
            left = remaining(last_good(stored.config_text if stored else None), spent)
            if not left.tokens or not left.seconds:
                reply = comments.not_proposing_reply(subject.asked_in, WhyNot.BUDGET)
                return Said(reply, done=False)
            _evaluate(context, connection, subject, propose=True)
        writer = self.writer
        return Said(comments.proposing_reply(subject.asked_in, writer.agent, writer.model))

    def _open(self, context: Context, subject: Subject, command: Command) -> Said:
        """A worker that has another App's key opens it, and what came of that is told afterwards."""
        repository, where = subject.repository, subject.asked_in
        with context.transaction() as connection:
            known = _verdict(connection, subject)
            if known is None:
                return Said(comments.no_verdict_reply(where), done=False)
            chosen = next((one for one in known.alternatives if one.id == command.about), None)
            if chosen is None:
                view = verdict_view(known)
                return Said(comments.no_such_reply(where, view, command.about), done=False)
            stored = groups.repository(connection, repository.id)
            config = last_good(stored.config_text if stored else None)
            if why := refused(config, has_writer=self.may_open):
                return Said(comments.not_opening_reply(where, chosen.id, why), done=False)
            asked = Asked(where, subject.asked_under, subject.author)
            draft = drafts.ask(connection, repository.id, chosen.attempt, asked)
            if draft.pull is None:
                job = OpenDraft(repository.installation, repository.id, draft.id)
                context.enqueue(connection, [Planned(job)])
            elif draft.asked.where != where:
                return Said(comments.open_already_reply(where, chosen.id, draft.pull))
        return Said()

    def _opinion(self, context: Context, subject: Subject, command: Command) -> Said:
        """Opinions are kept as outcomes when the delivery is recorded; here is what else follows, and the answer."""
        with context.transaction() as connection:
            known = _verdict(connection, subject)
            if known is None:
                return Said(comments.no_verdict_reply(subject.asked_in), done=False)
            ours = [one.id for one in known.alternatives]
            if command.alternative is not None and command.about not in ours:
                view = verdict_view(known)
                return Said(
                    comments.no_such_reply(subject.asked_in, view, command.about), done=False
                )
            if command.verb is not Verb.DISAGREE or command.pulls:
                return Said()
            words = Words(command.alternative, command.reason, subject.author)
            leads = second_attempts.after_words(connection, known, words)
            if second_attempts.are_due(leads):
                _evaluate(context, connection, subject)
        if isinstance(leads, Refused):
            return Said(comments.not_trying_again_reply(subject.asked_in, leads.reason))
        return Said(comments.trying_again_reply(subject.asked_in, leads) if leads else "")

    def _explain(self, context: Context, subject: Subject, command: Command) -> Said:
        with transaction(context.database) as connection:
            evaluation = _verdict(connection, subject)
        if evaluation is None:
            return Said(comments.no_verdict_reply(subject.asked_in), done=False)
        view = verdict_view(evaluation)
        return Said(comments.explain_reply(subject.asked_in, view, command.about))

    def _status(self, context: Context, subject: Subject) -> Said:
        with transaction(context.database) as connection:
            stored = groups.repository(connection, subject.repository.id)
            group = groups.group_of(connection, subject.repository.id, subject.issue)
            view = StatusView((), Stage.NOTHING)
            if group is not None:
                view = self._status_view(context, connection, subject, group)
            waits = progress.waits_of(connection, _keys(connection, subject, group))
        view = replace(view, config_problem=stored.config_error if stored else None, waits=waits)
        return Said(comments.status_reply(subject.asked_in, subject.issue, view))

    def _status_view(
        self, context: Context, connection: Connection, subject: Subject, group: GroupRow
    ) -> StatusView:
        newest = evaluations.newest(connection, group.id, "collected", "verified", "published")
        stage, detail = _stage(connection, group, newest)
        effect = PostgresEffects(context.database).load(
            EffectKey(subject.repository, comment_key(group.id))
        )
        url = None
        if effect is not None and effect.github_id is not None:
            issue = IssueRef(subject.repository, subject.issue)
            url = comment_url(
                self.github.transport.endpoints.web, issue, CommentId(effect.github_id)
            )
        return StatusView(
            alternatives=_alternatives(connection, subject, group, newest),
            members=members_of(groups.members(connection, group.id)),
            stage=stage,
            detail=detail,
            left_out=newest.left_out if newest else (),
            all_links_read=newest is None or newest.all_links_read,
            comment=url,
        )

    def _group(self, context: Context, subject: Subject, command: Command) -> Said:
        edit = command.edit or GroupEdit.SHOW
        with context.transaction() as connection:
            group = groups.ensure_group(connection, subject.repository.id, subject.issue)
            if edit is not GroupEdit.SHOW:
                adds = edit is GroupEdit.ADD
                ours = drafts.pulls(connection, subject.repository.id)
                if own := next((one for one in command.pulls if adds and one in ours), None):
                    return Said(comments.own_draft_reply(subject.asked_in, own), done=False)
                groups.force_members(connection, group, command.pulls, member=adds)
                _evaluate(context, connection, subject)
            members = members_of(groups.members(connection, group))
        return Said(comments.group_reply(subject.asked_in, GroupView(edit, command.pulls, members)))


def _evaluate(
    context: Context, connection: Connection, subject: Subject, *, propose: bool = False
) -> None:
    """Plan the evaluation somebody asks for, once per comment or review; with one more alternative, if they ask for it."""
    wish = f"{Verb.PROPOSE.value if propose else BY_COMMAND}:{subject.asked_in}"
    if jobs.stored_for(connection, subject.delivery, EvaluateIssue.kind, wish):
        return
    repository = subject.repository
    place = (repository.installation, repository.id, subject.issue)
    wanted = EvaluateIssue(*place, BY_COMMAND, subject.asked_in, subject.asked_under, propose)
    context.enqueue(connection, [Planned(wanted, wish=wish)])


def _verdict(connection: Connection, subject: Subject) -> Evaluation | None:
    group = groups.group_of(connection, subject.repository.id, subject.issue)
    return evaluations.newest(connection, group.id, "verified", "published") if group else None


def _keys(connection: Connection, subject: Subject, group: GroupRow | None) -> list[str]:
    """Of the jobs that bring the issue's verdict about."""
    repository = subject.repository
    place = (repository.installation, repository.id, subject.issue)
    judged = evaluations.newest(connection, group.id, "collected") if group else None
    return [
        EvaluateIssue(*place, BY_COMMAND).key,
        PublishVerdict(*place, EvaluationId(0)).key,
        *([ProposePatches.key_of(judged.id), VerifyGroup.key_of(judged.id)] if judged else []),
    ]


def _alternatives(
    connection: Connection, subject: Subject, group: GroupRow, newest: Evaluation | None
) -> AlternativesStatus | None:
    """None where there are none and the settings want none."""
    stored = groups.repository(connection, subject.repository.id)
    config = last_good(stored.config_text if stored else None)
    failure = attempts.last_failure(connection, group.id)
    there = newest.alternatives if newest else ()
    running = newest.alternatives_wanted if newest and newest.state == "collected" else 0
    if config.alternatives is Alternatives.OFF and not (there or running or failure):
        return None
    return AlternativesStatus(
        there=tuple(one.number for one in there),
        running=running,
        spent=attempts.spent(connection, subject.repository.id),
        budget=config.alternatives_budget,
        last_failure=failure,
    )


def _stage(
    connection: Connection, group: GroupRow, newest: Evaluation | None
) -> tuple[Stage, str | None]:
    if newest is None:
        return (Stage.WAITING, group.waiting) if group.waiting else (Stage.NOTHING, None)
    if newest.failure is not None:
        return Stage.FAILED, NOT_FINISHED
    if newest.state != "collected":
        return Stage.JUDGED, group.waiting
    at_work = ProposePatches if newest.alternatives_wanted else VerifyGroup
    running = progress.progress_of(connection, at_work.key_of(newest.id))
    return (Stage.QUEUED, None) if running is None else (Stage.JUDGING, running or None)
