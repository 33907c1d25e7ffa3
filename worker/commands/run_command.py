"""Carry out the `/r4p` commands of one comment: react with 👀, then with 👍 or 😕, and reply where
needed.

GitHub has no reactions on reviews, so a review gets a reply instead. Strangers get a reply at most, and a limited
number of them: `app.policy.answer_policy` decides.
"""

import logging
from dataclasses import dataclass, field

from app import comments
from app.db.session import transaction
from app.db.store.issues import groups, webhook_state
from app.db.store.queue import command_answers, jobs
from app.db.store.queue.command_answers import Comment
from app.events import CommentEvent, ReviewEvent
from app.events import parse as parse_event
from app.github.api import rest_reader
from app.github.api.publisher import Publisher
from app.github.errors import NotFound
from app.github.http.connection import GitHub
from app.jobs.job import LocateIssues, Planned, RunCommand
from app.policy.answer_policy import (
    SilenceReason,
    is_exempt,
    plan_answer,
)
from app.policy.commands import WORDLESS, Command, Unknown, Verb, parse
from app.settings import CeilingSettings
from app.values.identifiers import PullNumber, RepositoryRef
from worker.commands.approve_pulls import approve_pulls
from worker.commands.command_author import (
    CommandAuthor,
    Written,
    build_request,
    find_issues,
    is_delegate_here,
    store_plan,
)
from worker.commands.command_subject import CommandResult, Subject
from worker.commands.issue_commands import IssueCommands
from worker.commands.issue_control import show_config
from worker.publishing.replies import Replies
from worker.queue.context import Context
from worker.queue.errors import Postponed

log = logging.getLogger(__name__)

_RECORDING_SECONDS = 1.0


@dataclass(slots=True)
class _CommandReply:
    """The collected reply to a comment's commands."""

    blocks: list[str] = field(default_factory=list)
    is_understood: bool = True
    wordless: list[Verb] = field(default_factory=list)
    """Commands that succeeded without a reply."""

    def add(self, result: CommandResult, verb: Verb | None = None) -> None:
        """Add the result of one command."""
        if result.text:
            self.blocks.append(result.text)
        elif verb is not None:
            self.wordless.append(verb)
        self.is_understood = self.is_understood and result.is_done


@dataclass(frozen=True, slots=True)
class RunCommandHandler:
    """Reads a stored comment again, checks the author's permission, and carries out its `/r4p` commands."""

    github: GitHub
    commands: IssueCommands
    mention: str | None
    ceilings: CeilingSettings

    def __call__(self, context: Context, job: RunCommand) -> None:
        """Carry out the commands of the comment that `job` names, and answer by reactions or a reply.

        A comment that was deleted meanwhile gets no answer. The web process checks only how lines
        begin, so a comment may hold no command. Raises Postponed while the bot does not know the repository and still
        has to record the delivery, which names it: the two jobs of one delivery run in any order.
        """
        with transaction(context.database) as connection:
            # First: what is recorded meanwhile is then seen below.
            is_recorded = webhook_state.is_recorded(connection, job.delivery)
            stored = groups.load_active_repository(connection, job.repository)
            delivery = webhook_state.load_delivery(connection, job.delivery)
            # A webhook may arrive after reconciling found its comment and carried the commands out.
            is_done = jobs.has_job(connection, job.key, job.kind, done_besides=context.claimed.id)
        if stored is None and not is_recorded:
            raise Postponed("the delivery is not recorded yet", after_seconds=_RECORDING_SECONDS)
        if stored is None or delivery is None or is_done:
            return
        event = parse_event(delivery.event, job.delivery, delivery.body)
        if not isinstance(event, Written):
            return
        commands = parse(event.body, self.mention)
        if not commands:
            return
        try:
            author = self._meet_author(context, stored.ref, event, commands)
            if author is not None and author.plan.carries_out | author.plan.tells_refusal:
                self._answer(context, stored.ref, event, commands, author)
        except NotFound:
            return

    def _meet_author(
        self,
        context: Context,
        repository: RepositoryRef,
        event: Written,
        commands: tuple[Command | Unknown, ...],
    ) -> CommandAuthor | None:
        """Ask GitHub for the author's permission, decide what to answer, and store it.

        A payload proves nothing. After a silence the bot does not ask for a while, and returns None.
        """
        comment = Comment(repository.id, event.author.id, int(event.number), event.command_source)
        with transaction(context.database) as connection:
            if command_answers.load_history(connection, comment).was_silent:
                command_answers.count_silence(connection, SilenceReason.CAPPED)
                return None
        permission = rest_reader.read_permission(self.github, repository, event.author.login)
        is_delegate = is_delegate_here(context, event)
        asked = build_request(event, commands, permission, is_delegate=is_delegate)
        with context.transaction() as connection:
            plan = plan_answer(command_answers.load_history(connection, comment), asked)
            store_plan(connection, comment, plan, asked)
        trusted = is_delegate or is_exempt(permission)
        github = self.github if trusted else self.github.for_replies
        replies = Replies(Publisher(github, context.open_effects()))
        return CommandAuthor(permission, plan, replies, is_delegate)

    def _answer(
        self,
        context: Context,
        repository: RepositoryRef,
        event: Written,
        commands: tuple[Command | Unknown, ...],
        author: CommandAuthor,
    ) -> None:
        self._react(repository, event, author, "eyes")
        answer = self._carry_out(context, repository, event, commands, author)
        if answer.blocks and author.plan.silence is None:
            self._reply(repository, event, author, answer)
        self._react(repository, event, author, "+1" if answer.is_understood else "confused")

    def _carry_out(
        self,
        context: Context,
        repository: RepositoryRef,
        event: Written,
        commands: tuple[Command | Unknown, ...],
        author: CommandAuthor,
    ) -> _CommandReply:
        answer = _CommandReply()
        unknown = [command for command in commands if isinstance(command, Unknown)]
        if unknown:
            answer.add(
                CommandResult(
                    comments.write_unknown_reply(event.command_source, unknown), is_done=False
                )
            )
        wanted = [command for command in commands if isinstance(command, Command)]
        may = [c.verb for c in wanted if author.may_use(c.verb)]
        self._confirm_in_review(
            repository, event, author, [verb for verb in may if verb in WORDLESS]
        )
        for command in wanted:
            if not author.may_use(command.verb):
                text = comments.write_forbidden_reply(
                    event.command_source, command.verb, author.permission
                )
                reply = text if author.plan.tells_refusal else ""
                answer.add(CommandResult(reply, is_done=False))
            elif command.verb is Verb.OK:
                answer.add(approve_pulls(context, repository, event, command), command.verb)
            elif command.verb is Verb.HELP:
                answer.add(CommandResult(comments.write_help_reply(event.command_source)))
            elif command.verb is Verb.CONFIG:
                where = event.command_source
                answer.add(show_config(context, self.ceilings, repository.id, where))
            else:
                answer.add(self._run_on_issue(context, repository, event, command), command.verb)
        return answer

    def _react(
        self, repository: RepositoryRef, event: Written, author: CommandAuthor, content: str
    ) -> None:
        """Add a reaction to a comment; a stranger gets a reply only, which is one write in place of three."""
        is_wanted = author.plan.silence is None and author.is_exempt
        if is_wanted and isinstance(event, CommentEvent):
            author.replies.react(repository, event.comment, content)

    def _confirm_in_review(
        self, repository: RepositoryRef, event: Written, author: CommandAuthor, verbs: list[Verb]
    ) -> None:
        """Reply to a review in place of 👍, before later steps can reply."""
        if not isinstance(event, ReviewEvent) or not verbs or author.plan.silence is not None:
            return
        if not author.replies.has_answered(repository, event.command_source):
            body = comments.write_understood_reply(event.command_source, verbs)
            author.replies.send(repository, event.number, event.command_source, body)

    def _reply(
        self,
        repository: RepositoryRef,
        event: Written,
        author: CommandAuthor,
        answer: _CommandReply,
    ) -> None:
        blocks = answer.blocks
        if isinstance(event, ReviewEvent) and answer.wordless:
            blocks = [
                comments.write_understood_reply(event.command_source, answer.wordless),
                *blocks,
            ]
        body = comments.join_replies(event.command_source, blocks)
        author.replies.send(repository, event.number, event.command_source, body)

    def _run_on_issue(
        self, context: Context, repository: RepositoryRef, event: Written, command: Command
    ) -> CommandResult:
        issues = list(find_issues(context, event))
        if len(issues) == 1:
            place = (repository, issues[0], event.command_source, event.number, event.delivery)
            subject = Subject(*place, event.author.login)
            return self.commands.carry_out(context, subject, command)
        if issues:
            named = ", ".join(f"#{number}" for number in issues)
            problem = f"this pull request belongs to several issues ({named})"
            fix = "write the command on one of these issues"
        else:
            _plan_locate(context, repository, event)
            problem = "no issue is known that this pull request resolves"
            fix = "write `Fixes #N` into its description, or the command on the issue"
        return CommandResult(
            comments.write_failed_reply(event.command_source, problem, fix), is_done=False
        )


def _plan_locate(context: Context, repository: RepositoryRef, event: Written) -> None:
    """Plan a search for the issues of a pull request, so that the next command finds them."""
    wanted = LocateIssues(repository.installation, repository.id, PullNumber(event.number))
    with context.transaction() as connection:
        if not jobs.has_job_for(connection, event.delivery, LocateIssues.kind):
            context.enqueue(connection, [Planned(wanted)])
