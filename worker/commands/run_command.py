"""Carry out the `/r4p` commands of one comment: react with 👀, then with 👍 or 😕, and reply where
needed.

GitHub has no reactions on reviews, so a review gets a reply instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from app import comments
from app.db.session import transaction
from app.db.store.issues import groups, webhook_state
from app.db.store.queue import jobs
from app.events import CommentEvent, ReviewEvent
from app.events import parse as parse_event
from app.github.api import rest_reader
from app.github.api.publisher import Publisher
from app.github.errors import NotFound
from app.github.http.connection import GitHub
from app.jobs.job import LocateIssues, Planned, RunCommand
from app.policy.commands import WORDLESS, Command, Unknown, Verb, is_allowed, parse
from app.values.identifiers import IssueNumber, PullNumber, RepositoryRef
from app.values.permission import Permission
from worker.commands.command_subject import CommandResult, Subject
from worker.commands.issue_commands import IssueCommands
from worker.publishing.replies import Replies
from worker.queue.context import Context

Written = CommentEvent | ReviewEvent
"""The events that can hold commands."""


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

    def __call__(self, context: Context, job: RunCommand) -> None:
        """Carry out the commands of the comment that `job` names, and answer by reactions or a reply.

        A comment that was deleted meanwhile gets no answer. The web process checks only how lines
        begin, so a comment may hold no command.
        """
        with transaction(context.database) as connection:
            stored = groups.load_active_repository(connection, job.repository)
            delivery = webhook_state.load_delivery(connection, job.delivery)
            # A webhook may arrive after reconciling found its comment and carried the commands out.
            is_done = jobs.has_job(connection, job.key, job.kind, done_besides=context.claimed.id)
        if stored is None or delivery is None or is_done:
            return
        event = parse_event(delivery.event, job.delivery, delivery.body)
        if not isinstance(event, Written):
            return
        commands = parse(event.body, self.mention)
        if not commands:
            return
        replies = Replies(Publisher(self.github, context.open_effects()))
        try:
            _react(replies.publisher, stored.ref, event, "eyes")
            answer = self._carry_out(context, replies, stored.ref, event, commands)
            if answer.blocks:
                _reply(replies, stored.ref, event, answer)
            word = "+1" if answer.is_understood else "confused"
            _react(replies.publisher, stored.ref, event, word)
        except NotFound:
            return

    def _carry_out(
        self,
        context: Context,
        replies: Replies,
        repository: RepositoryRef,
        event: Written,
        commands: tuple[Command | Unknown, ...],
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
        permission = self._read_permission(repository, event, wanted)
        may = [c.verb for c in wanted if is_allowed(c.verb, permission)]
        _confirm_in_review(replies, repository, event, [verb for verb in may if verb in WORDLESS])
        for command in wanted:
            if not is_allowed(command.verb, permission):
                text = comments.write_forbidden_reply(
                    event.command_source, command.verb, permission
                )
                answer.add(CommandResult(text, is_done=False))
            elif command.verb is Verb.HELP:
                answer.add(CommandResult(comments.write_help_reply(event.command_source)))
            else:
                answer.add(self._run_on_issue(context, repository, event, command), command.verb)
        return answer

    def _read_permission(
        self, repository: RepositoryRef, event: Written, wanted: list[Command]
    ) -> Permission:
        """Ask GitHub for the author's permission, only when a command needs one.

        A payload proves nothing.
        """
        if all(is_allowed(command.verb, Permission.NONE) for command in wanted):
            return Permission.NONE
        return rest_reader.read_permission(self.github, repository, event.author.login)

    def _run_on_issue(
        self, context: Context, repository: RepositoryRef, event: Written, command: Command
    ) -> CommandResult:
        issues = list(_find_issues(context, event))
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


def _react(publisher: Publisher, repository: RepositoryRef, event: Written, content: str) -> None:
    if isinstance(event, CommentEvent):
        publisher.react(repository, event.comment, content)


def _confirm_in_review(
    replies: Replies, repository: RepositoryRef, event: Written, verbs: list[Verb]
) -> None:
    """Reply to a review in place of 👍, before later steps can reply."""
    if not isinstance(event, ReviewEvent) or not verbs:
        return
    if not replies.has_answered(repository, event.command_source):
        body = comments.write_understood_reply(event.command_source, verbs)
        replies.send(repository, event.number, event.command_source, body)


def _reply(
    replies: Replies, repository: RepositoryRef, event: Written, answer: _CommandReply
) -> None:
    blocks = answer.blocks
    if isinstance(event, ReviewEvent) and answer.wordless:
        blocks = [
            comments.write_understood_reply(event.command_source, answer.wordless),
            *blocks,
        ]
    body = comments.join_replies(event.command_source, blocks)
    replies.send(repository, event.number, event.command_source, body)


def _find_issues(context: Context, event: Written) -> Iterator[IssueNumber]:
    if not event.on_pull_request:
        yield IssueNumber(event.number)
        return
    with transaction(context.database) as connection:
        yield from groups.list_issues_of_pull(
            connection, event.repository.id, PullNumber(event.number)
        )


def _plan_locate(context: Context, repository: RepositoryRef, event: Written) -> None:
    """Plan a search for the issues of a pull request, so that the next command finds them."""
    wanted = LocateIssues(repository.installation, repository.id, PullNumber(event.number))
    with context.transaction() as connection:
        if not jobs.has_job_for(connection, event.delivery, LocateIssues.kind):
            context.enqueue(connection, [Planned(wanted)])
