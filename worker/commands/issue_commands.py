"""Carry out the commands about one issue; the caller has checked the author's permission."""

from dataclasses import dataclass

from sqlalchemy import Connection

from app import comments
from app.comments import GroupView
from app.db.session import transaction
from app.db.store.alternatives import attempts, drafts
from app.db.store.alternatives.drafts import DraftRequest
from app.db.store.issues import evaluations, groups
from app.db.store.issues.evaluations import Evaluation
from app.db.store.queue import jobs
from app.github.http.connection import GitHub
from app.jobs.draft_jobs import OpenDraft
from app.jobs.job import EvaluateIssue, Planned
from app.policy.alternative_policy import NoAttempt, RefusalReason, get_remaining_budget
from app.policy.commands import Command, GroupEdit, Verb
from app.policy.draft_policy import find_refusal
from app.policy.event_policy import BY_COMMAND
from worker.commands import issue_control
from worker.commands.command_subject import AgentDescription, CommandResult, Subject
from worker.commands.status_command import report_status
from worker.outcomes import second_attempts
from worker.outcomes.second_attempts import MaintainerRemark
from worker.publishing.verdict_view import build_members, build_verdict_view
from worker.queue.context import Context
from worker.repositories.repository_config import parse_last_good


@dataclass(frozen=True, slots=True)
class IssueCommands:
    """Carries out the `/r4p` commands about one issue. A repeated command changes nothing more."""

    github: GitHub
    agent: AgentDescription | None = None
    """The agent that writes alternatives; None when there is none."""
    can_open_drafts: bool = False
    """True when a writer App opens draft pull requests."""

    def carry_out(self, context: Context, subject: Subject, command: Command) -> CommandResult:
        """Carry out one command about `subject`: store its changes and follow-up jobs, and return its result.

        The caller writes the reply that the result holds.
        """
        if command.verb is Verb.STATUS:
            return report_status(self.github, context, subject)
        whole = {
            Verb.VERIFY: self._verify,
            Verb.PROPOSE: self._propose,
        }
        if command.verb in whole:
            return whole[command.verb](context, subject)
        named = {
            Verb.EXPLAIN: self._explain,
            Verb.GROUP: self._edit_group,
            Verb.OPEN: self._open,
            Verb.CANCEL: issue_control.cancel,
            Verb.PAUSE: issue_control.switch_pause,
            Verb.RESUME: issue_control.switch_pause,
            Verb.DELEGATE: issue_control.edit_delegates,
        }
        return named.get(command.verb, self._record_opinion)(context, subject, command)

    def _verify(self, context: Context, subject: Subject) -> CommandResult:
        with context.transaction() as connection:
            _evaluate(context, connection, subject)
        return CommandResult()

    def _propose(self, context: Context, subject: Subject) -> CommandResult:
        """Refuse at once if there is no agent or no budget; otherwise plan an evaluation with an
        alternative.
        """
        with context.transaction() as connection:
            stored = groups.load_repository(connection, subject.repository.id)
            spent = attempts.sum_cost(connection, subject.repository.id)
            if self.agent is None:
                reply = comments.write_proposal_refused_reply(
                    subject.asked_in, RefusalReason.NO_AGENT
                )
                return CommandResult(reply, is_done=False)
            left = get_remaining_budget(parse_last_good(stored), spent)
            if not left.tokens or not left.seconds:
                reply = comments.write_proposal_refused_reply(
                    subject.asked_in, RefusalReason.BUDGET
                )
                return CommandResult(reply, is_done=False)
            _evaluate(context, connection, subject, propose=True)
        writer = self.agent
        return CommandResult(
            comments.write_proposing_reply(subject.asked_in, writer.agent, writer.model)
        )

    def _open(self, context: Context, subject: Subject, command: Command) -> CommandResult:
        """Plan the job that opens a draft; the worker with the writer App's key runs it and
        replies.
        """
        repository, where = subject.repository, subject.asked_in
        with context.transaction() as connection:
            evaluation = _load_verdict(connection, subject)
            if evaluation is None:
                return CommandResult(comments.write_no_verdict_reply(where), is_done=False)
            chosen = next(
                (
                    alternative
                    for alternative in evaluation.alternatives
                    if alternative.id == command.about
                ),
                None,
            )
            if chosen is None:
                view = build_verdict_view(evaluation)
                return CommandResult(
                    comments.write_no_such_patch_reply(where, view, command.about), is_done=False
                )
            stored = groups.load_repository(connection, repository.id)
            config = parse_last_good(stored)
            if why := find_refusal(config, has_writer=self.can_open_drafts):
                return CommandResult(
                    comments.write_draft_refused_reply(where, chosen.id, why), is_done=False
                )
            asked = DraftRequest(where, subject.asked_under, subject.author)
            draft = drafts.request_draft(connection, repository.id, chosen.attempt, asked)
            if draft.pull is None:
                job = OpenDraft(repository.installation, repository.id, draft.id)
                context.enqueue(connection, [Planned(job)])
            elif draft.asked.where != where:
                return CommandResult(
                    comments.write_draft_exists_reply(where, chosen.id, draft.pull)
                )
        return CommandResult()

    def _record_opinion(
        self, context: Context, subject: Subject, command: Command
    ) -> CommandResult:
        """Plan a second attempt after a disagreement, and reply.

        `record_event` stores the opinion itself.
        """
        with context.transaction() as connection:
            evaluation = _load_verdict(connection, subject)
            if evaluation is None:
                return CommandResult(
                    comments.write_no_verdict_reply(subject.asked_in), is_done=False
                )
            own = [alternative.id for alternative in evaluation.alternatives]
            if command.alternative is not None and command.about not in own:
                view = build_verdict_view(evaluation)
                return CommandResult(
                    comments.write_no_such_patch_reply(subject.asked_in, view, command.about),
                    is_done=False,
                )
            if command.verb is not Verb.DISAGREE or command.pulls:
                return CommandResult()
            words = MaintainerRemark(command.alternative, command.reason, subject.author)
            leads = second_attempts.leave_hints_of_maintainer(connection, evaluation, words)
            if second_attempts.has_second_attempts(leads):
                _evaluate(context, connection, subject)
        if isinstance(leads, NoAttempt):
            return CommandResult(comments.write_no_retry_reply(subject.asked_in, leads.reason))
        return CommandResult(comments.write_retry_reply(subject.asked_in, leads) if leads else "")

    def _explain(self, context: Context, subject: Subject, command: Command) -> CommandResult:
        with transaction(context.database) as connection:
            evaluation = _load_verdict(connection, subject)
        if evaluation is None:
            return CommandResult(comments.write_no_verdict_reply(subject.asked_in), is_done=False)
        view = build_verdict_view(evaluation)
        return CommandResult(
            comments.write_explanation_reply(subject.asked_in, view, command.about)
        )

    def _edit_group(self, context: Context, subject: Subject, command: Command) -> CommandResult:
        edit = command.edit or GroupEdit.SHOW
        with context.transaction() as connection:
            group = groups.ensure_group(connection, subject.repository.id, subject.issue)
            if edit is not GroupEdit.SHOW:
                adds = edit is GroupEdit.ADD
                own_drafts = drafts.list_pulls(connection, subject.repository.id)
                if own := next(
                    (pull for pull in command.pulls if adds and pull in own_drafts), None
                ):
                    return CommandResult(
                        comments.write_own_draft_reply(subject.asked_in, own), is_done=False
                    )
                groups.force_members(connection, group, command.pulls, member=adds)
                _evaluate(context, connection, subject)
            members = build_members(groups.list_members(connection, group))
        return CommandResult(
            comments.write_group_reply(subject.asked_in, GroupView(edit, command.pulls, members))
        )


def _evaluate(
    context: Context, connection: Connection, subject: Subject, *, propose: bool = False
) -> None:
    """Plan an evaluation once per comment or review; `propose` asks for one more alternative."""
    wish = f"{Verb.PROPOSE.value if propose else BY_COMMAND}:{subject.asked_in}"
    if jobs.has_job_for(connection, subject.delivery, EvaluateIssue.kind, wish):
        return
    repository = subject.repository
    place = (repository.installation, repository.id, subject.issue)
    wanted = EvaluateIssue(*place, BY_COMMAND, subject.asked_in, subject.asked_under, propose)
    context.enqueue(connection, [Planned(wanted, wish=wish)])


def _load_verdict(connection: Connection, subject: Subject) -> Evaluation | None:
    group = groups.find_group(connection, subject.repository.id, subject.issue)
    return evaluations.find_newest(connection, group.id, "verified", "published") if group else None
