"""The author of a comment with commands: what the person may do, and what the bot answers."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.issues import groups, issue_controls
from app.db.store.queue import command_answers
from app.db.store.queue.command_answers import AnswerKind, Comment
from app.events import CommentEvent, ReviewEvent
from app.policy.answer_policy import AnswerPlan, CommandRequest, is_exempt
from app.policy.commands import Command, Unknown, Verb, is_allowed
from app.values.identifiers import IssueNumber, PullNumber
from app.values.permission import Permission
from worker.publishing.replies import Replies
from worker.queue.context import Context

log = logging.getLogger(__name__)

Written = CommentEvent | ReviewEvent
"""The events that can hold commands."""


@dataclass(frozen=True, slots=True)
class CommandAuthor:
    """The author of a comment with commands: the permission, and what the bot answers."""

    permission: Permission
    plan: AnswerPlan
    replies: Replies
    """Writes the answers, with the part of the write limits that the permission allows."""
    is_delegate: bool
    """True if `/r4p delegate` lets the author use some commands on this issue."""

    @property
    def is_exempt(self) -> bool:
        """True if the bot answers every comment of the author."""
        return self.is_delegate or is_exempt(self.permission)

    def may_use(self, verb: Verb) -> bool:
        """Return whether the author may give a command."""
        return is_allowed(verb, self.permission, is_delegate=self.is_delegate)


def build_request(
    event: Written,
    commands: tuple[Command | Unknown, ...],
    permission: Permission,
    *,
    is_delegate: bool,
) -> CommandRequest:
    """Build the facts about a comment with commands that decide the answer (pure)."""
    refused = [
        isinstance(command, Command)
        and not is_allowed(command.verb, permission, is_delegate=is_delegate)
        for command in commands
    ]
    return CommandRequest(permission, any(refused), not all(refused), event.is_locked, is_delegate)


def store_plan(
    connection: Connection, comment: Comment, plan: AnswerPlan, asked: CommandRequest
) -> None:
    """Store the answer to a comment; those to people with triage permission only where they refuse."""
    if plan.silence is not None:
        log.info("no answer to %s: %s", comment.source, plan.silence)
        command_answers.count_silence(connection, plan.silence)
    if plan.tells_refusal:
        command_answers.record_answer(connection, comment, AnswerKind.REFUSAL)
    elif not (asked.is_delegate or is_exempt(asked.permission)):
        kind = AnswerKind.REPLY if plan.silence is None else AnswerKind.SILENCE
        command_answers.record_answer(connection, comment, kind)


def is_delegate_here(context: Context, event: Written) -> bool:
    """Return whether somebody delegated commands to the author on the only issue that the comment is about."""
    issues = list(find_issues(context, event))
    if len(issues) != 1:
        return False
    with transaction(context.database) as connection:
        here = event.repository.id
        return issue_controls.is_delegate(connection, here, issues[0], event.author.login)


def find_issues(context: Context, event: Written) -> Iterator[IssueNumber]:
    """Yield the issue of a comment, or the issues of its pull request."""
    if not event.on_pull_request:
        yield IssueNumber(event.number)
        return
    with transaction(context.database) as connection:
        yield from groups.list_issues_of_pull(
            connection, event.repository.id, PullNumber(event.number)
        )
