"""Carry out the `/r4p` commands of one comment: 👀 at once, then 👍 or 😕, and words only where needed."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from app import comments
from app.commands import Command, Unknown, Verb, allowed, parse
from app.db.session import transaction
from app.db.store import groups, jobs, mirror
from app.events import CommentEvent
from app.events import parse as parse_event
from app.github import client
from app.github.connection import Connection as GitHub
from app.github.errors import NotFound
from app.github.publisher import Publisher
from app.identifiers import IssueNumber, PullNumber, RepositoryRef
from app.jobs import LocateIssues, Planned, RunCommand
from app.permissions import Permission
from worker.context import Context
from worker.replies import Replies
from worker.verbs import Said, Subject, Verbs


@dataclass(slots=True)
class _Answer:
    """What the comment's commands come to."""

    blocks: list[str] = field(default_factory=list)
    understood: bool = True

    def add(self, said: Said) -> None:
        """One more command was carried out, or not."""
        if said.text:
            self.blocks.append(said.text)
        self.understood = self.understood and said.done


@dataclass(frozen=True, slots=True)
class RunCommandHandler:
    """Reads the stored comment again, asks what its author may do, and does it."""

    github: GitHub
    publisher: Publisher
    replies: Replies
    verbs: Verbs
    mention: str | None

    def __call__(self, context: Context, job: RunCommand) -> None:
        """Acknowledge, do, answer. A comment that was deleted meanwhile is not answered."""
        with transaction(context.database) as connection:
            stored = groups.repository(connection, job.repository)
            delivery = mirror.delivery(connection, job.delivery)
        if stored is None or stored.suspended or delivery is None:
            return
        event = parse_event(delivery.event, job.delivery, delivery.body)
        if not isinstance(event, CommentEvent):
            return
        try:
            self.publisher.react(stored.ref, job.comment, "eyes")
            answer = self._carry_out(context, stored.ref, event)
            if answer.blocks:
                body = "\n\n---\n\n".join(answer.blocks)
                self.replies.send(stored.ref, event.number, job.comment, body)
            self.publisher.react(stored.ref, job.comment, "+1" if answer.understood else "confused")
        except NotFound:
            return

    def _carry_out(
        self, context: Context, repository: RepositoryRef, event: CommentEvent
    ) -> _Answer:
        answer = _Answer()
        found = parse(event.body, self.mention)
        unknown = [one for one in found if isinstance(one, Unknown)]
        if unknown:
            answer.add(Said(comments.unknown_reply(event.comment, unknown), done=False))
        wanted = [one for one in found if isinstance(one, Command)]
        permission = self._permission(repository, event, wanted)
        for command in wanted:
            if not allowed(command.verb, permission):
                text = comments.forbidden_reply(event.comment, command.verb, permission)
                answer.add(Said(text, done=False))
            elif command.verb is Verb.HELP:
                answer.add(Said(comments.help_reply(event.comment)))
            else:
                answer.add(self._about_issue(context, repository, event, command))
        return answer

    def _permission(
        self, repository: RepositoryRef, event: CommentEvent, wanted: list[Command]
    ) -> Permission:
        """Asked of GitHub only when a command needs a right; a payload proves none."""
        if all(allowed(command.verb, Permission.NONE) for command in wanted):
            return Permission.NONE
        return client.permission_of(self.github, repository, event.author.login)

    def _about_issue(
        self, context: Context, repository: RepositoryRef, event: CommentEvent, command: Command
    ) -> Said:
        issues = list(_issues(context, event))
        if len(issues) == 1:
            subject = Subject(repository, issues[0], event.comment, event.delivery)
            return self.verbs.carry_out(context, subject, command)
        if issues:
            named = ", ".join(f"#{number}" for number in issues)
            said = f"this pull request is compared for several issues ({named})"
            fix = "write the command on the issue that is meant"
        else:
            _locate(context, repository, event)
            said = "this pull request is not known to resolve an issue"
            fix = "write `Fixes #N` into its description, or the command on the issue"
        return Said(comments.failed_reply(event.comment, said, fix), done=False)


def _issues(context: Context, event: CommentEvent) -> Iterator[IssueNumber]:
    if not event.on_pull_request:
        yield IssueNumber(event.number)
        return
    with transaction(context.database) as connection:
        yield from groups.issues_of_pull(connection, event.repository.id, PullNumber(event.number))


def _locate(context: Context, repository: RepositoryRef, event: CommentEvent) -> None:
    """Ask GitHub, so that the next command finds what this one did not."""
    wanted = LocateIssues(repository.installation, repository.id, PullNumber(event.number))
    with context.transaction() as connection:
        if not jobs.stored_for(connection, event.delivery, LocateIssues.kind):
            context.enqueue(connection, [Planned(wanted)])
