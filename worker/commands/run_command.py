"""Carry out the `/r4p` commands of one comment: 👀 at once, then 👍 or 😕, and words only where needed.

A review takes no reactions: what they would say is said in words.
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
from app.github.http.connection import Connection as GitHub
from app.jobs.job import LocateIssues, Planned, RunCommand
from app.policy.commands import WORDLESS, Command, Unknown, Verb, allowed, parse
from app.values.identifiers import IssueNumber, PullNumber, RepositoryRef
from app.values.permission import Permission
from worker.commands.issue_commands import Said, Subject, Verbs
from worker.publishing.replies import Replies
from worker.queue.context import Context

Written = CommentEvent | ReviewEvent
"""Where people write commands."""


@dataclass(slots=True)
class _Answer:
    """What the comment's commands come to."""

    blocks: list[str] = field(default_factory=list)
    understood: bool = True
    wordless: list[Verb] = field(default_factory=list)
    """What was done without a word."""

    def add(self, said: Said, verb: Verb | None = None) -> None:
        """One more command was carried out, or not."""
        if said.text:
            self.blocks.append(said.text)
        elif verb is not None:
            self.wordless.append(verb)
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
        """Acknowledge, do, answer. A comment that was deleted meanwhile is not answered.

        The web process looks only at how lines begin, so a comment may hold no command after all.
        """
        with transaction(context.database) as connection:
            stored = groups.repository(connection, job.repository)
            delivery = webhook_state.delivery(connection, job.delivery)
        if stored is None or stored.suspended or delivery is None:
            return
        event = parse_event(delivery.event, job.delivery, delivery.body)
        if not isinstance(event, Written):
            return
        found = parse(event.body, self.mention)
        if not found:
            return
        try:
            self._react(stored.ref, event, "eyes")
            answer = self._carry_out(context, stored.ref, event, found)
            if answer.blocks:
                self._say(stored.ref, event, answer)
            self._react(stored.ref, event, "+1" if answer.understood else "confused")
        except NotFound:
            return

    def _carry_out(
        self,
        context: Context,
        repository: RepositoryRef,
        event: Written,
        found: tuple[Command | Unknown, ...],
    ) -> _Answer:
        answer = _Answer()
        unknown = [one for one in found if isinstance(one, Unknown)]
        if unknown:
            answer.add(Said(comments.unknown_reply(event.asked_in, unknown), done=False))
        wanted = [one for one in found if isinstance(one, Command)]
        permission = self._permission(repository, event, wanted)
        may = [c.verb for c in wanted if allowed(c.verb, permission)]
        self._take_up(repository, event, [verb for verb in may if verb in WORDLESS])
        for command in wanted:
            if not allowed(command.verb, permission):
                text = comments.forbidden_reply(event.asked_in, command.verb, permission)
                answer.add(Said(text, done=False))
            elif command.verb is Verb.HELP:
                answer.add(Said(comments.help_reply(event.asked_in)))
            else:
                answer.add(self._about_issue(context, repository, event, command), command.verb)
        return answer

    def _react(self, repository: RepositoryRef, event: Written, content: str) -> None:
        if isinstance(event, CommentEvent):
            self.publisher.react(repository, event.comment, content)

    def _take_up(self, repository: RepositoryRef, event: Written, verbs: list[Verb]) -> None:
        """In a review's stead for 👍, before what follows can have something to say in its place."""
        if not isinstance(event, ReviewEvent) or not verbs:
            return
        if not self.replies.stands(repository, event.asked_in):
            body = comments.understood_reply(event.asked_in, verbs)
            self.replies.send(repository, event.number, event.asked_in, body)

    def _say(self, repository: RepositoryRef, event: Written, answer: _Answer) -> None:
        blocks = answer.blocks
        if isinstance(event, ReviewEvent) and answer.wordless:
            blocks = [comments.understood_reply(event.asked_in, answer.wordless), *blocks]
        body = comments.together(event.asked_in, blocks)
        self.replies.send(repository, event.number, event.asked_in, body)

    def _permission(
        self, repository: RepositoryRef, event: Written, wanted: list[Command]
    ) -> Permission:
        """Asked of GitHub only when a command needs a right; a payload proves none."""
        if all(allowed(command.verb, Permission.NONE) for command in wanted):
            return Permission.NONE
        return rest_reader.permission_of(self.github, repository, event.author.login)

    def _about_issue(
        self, context: Context, repository: RepositoryRef, event: Written, command: Command
    ) -> Said:
        issues = list(_issues(context, event))
        if len(issues) == 1:
            place = (repository, issues[0], event.asked_in, event.number, event.delivery)
            subject = Subject(*place, event.author.login)
            return self.verbs.carry_out(context, subject, command)
        if issues:
            named = ", ".join(f"#{number}" for number in issues)
            said = f"this pull request is compared for several issues ({named})"
            fix = "write the command on the issue that is meant"
        else:
            _locate(context, repository, event)
            said = "this pull request is not known to resolve an issue"
            fix = "write `Fixes #N` into its description, or the command on the issue"
        return Said(comments.failed_reply(event.asked_in, said, fix), done=False)


def _issues(context: Context, event: Written) -> Iterator[IssueNumber]:
    if not event.on_pull_request:
        yield IssueNumber(event.number)
        return
    with transaction(context.database) as connection:
        yield from groups.issues_of_pull(connection, event.repository.id, PullNumber(event.number))


def _locate(context: Context, repository: RepositoryRef, event: Written) -> None:
    """Ask GitHub, so that the next command finds what this one did not."""
    wanted = LocateIssues(repository.installation, repository.id, PullNumber(event.number))
    with context.transaction() as connection:
        if not jobs.stored_for(connection, event.delivery, LocateIssues.kind):
            context.enqueue(connection, [Planned(wanted)])
