"""Actions of people and Apps on issues and comments, with the events and links that follow."""

from dataclasses import dataclass

from tests.github.actions.closing_keywords import Reference, find_closing_references, find_mentions
from tests.github.objects.issues import REACTIONS
from tests.github.webhooks import payloads
from tests.github.world.http_values import ApiError, invalid
from tests.github.world.state import (
    AppRecord,
    Comment,
    Issue,
    Reaction,
    Repository,
    TimelineEvent,
    User,
)
from tests.github.world.world import World

MAX_BODY = 65_536


@dataclass(frozen=True, slots=True)
class Author:
    """The account that writes, and the App through which it writes, if any."""

    user: User
    app: AppRecord | None = None


def open_issue(world: World, repo: Repository, title: str, body: str, author: User) -> Issue:
    """Open an issue."""
    issue = new_issue(world, repo, title, body, author)
    payloads.issue(world, repo, issue, "opened", author)
    add_mentions(world, repo, issue, body)
    return issue


def new_issue(world: World, repo: Repository, title: str, body: str, author: User) -> Issue:
    """Create the record of an issue or pull request under the next number, without an event."""
    check_body(body, "Issue")
    now = world.clock.now()
    number = max(repo.issues, default=0) + 1
    issue = Issue(world.ids.next("issue"), number, title, body, author, now, now)
    repo.issues[number] = issue
    return issue


def edit(world: World, repo: Repository, issue: Issue, sender: User, **texts: str | None) -> None:
    """Change title or body; None keeps the old text."""
    changes = {}
    for name, new in texts.items():
        if new is not None and new != getattr(issue, name):
            changes[name] = {"from": getattr(issue, name)}
            setattr(issue, name, new)
    issue.updated_at = world.clock.now()
    send = payloads.pull if issue.pull else payloads.issue
    send(world, repo, issue, "edited", sender, changes=changes)
    add_mentions(world, repo, issue, issue.body)


def set_state(world: World, repo: Repository, issue: Issue, state: str, sender: User) -> None:
    """Close or reopen an issue or pull request; the same state again does nothing."""
    if issue.state == state:
        return
    closing = state == "closed"
    now = world.clock.now()
    issue.state, issue.updated_at = state, now
    issue.closed_at, issue.closed_by = (now, sender) if closing else (None, None)
    if issue.pull is None:
        issue.state_reason = "completed" if closing else "reopened"
    action = "closed" if closing else "reopened"
    send = payloads.pull if issue.pull else payloads.issue
    send(world, repo, issue, action, sender)


def add_comment(world: World, repo: Repository, issue: Issue, body: str, author: Author) -> Comment:
    """Comment on an issue; 403 when it is locked, 422 when the text is empty or too long."""
    check_body(body, "IssueComment")
    if not body.strip():
        raise invalid("IssueComment", "body", "custom", "body cannot be blank")
    if issue.locked:
        raise ApiError(403, "Unable to create comment because issue is locked.")
    now = world.clock.now()
    comment = Comment(
        world.ids.next("comment"), issue.number, author.user, body, now, now, author.app
    )
    repo.comments[comment.id] = comment
    issue.updated_at = now
    payloads.comment(world, repo, comment, "created", author.user)
    add_mentions(world, repo, issue, body)
    return comment


def edit_comment(world: World, repo: Repository, comment: Comment, body: str, sender: User) -> None:
    """Replace a comment's text."""
    check_body(body, "IssueComment")
    old, comment.body, comment.updated_at = comment.body, body, world.clock.now()
    changes = {"body": {"from": old}}
    payloads.comment(world, repo, comment, "edited", sender, changes=changes)
    add_mentions(world, repo, repo.issues[comment.number], body)


def delete_comment(world: World, repo: Repository, comment: Comment, sender: User) -> None:
    """Remove a comment."""
    del repo.comments[comment.id]
    payloads.comment(world, repo, comment, "deleted", sender)


def react(world: World, comment: Comment, content: str, user: User) -> tuple[Reaction, bool]:
    """React to a comment. The second value is True for a new reaction. GitHub sends no event."""
    if content not in REACTIONS:
        raise invalid("Reaction", "content")
    for given in comment.reactions:
        if given.user.id == user.id and given.content == content:
            return given, False
    fresh = Reaction(world.ids.next("reaction"), user, content, world.clock.now())
    comment.reactions.append(fresh)
    return fresh, True


def link(repo: Repository, issue: Issue, number: int) -> None:
    """Link a pull request to an issue by hand, as the sidebar does."""
    issue.linked_pulls.add(number)
    add_event(issue, "connected", Reference(repo.full_name.lower(), number))


def unlink(repo: Repository, issue: Issue, number: int) -> None:
    """Take a manual link away."""
    issue.linked_pulls.discard(number)
    add_event(issue, "disconnected", Reference(repo.full_name.lower(), number))


def add_event(issue: Issue, kind: str, source: Reference) -> None:
    """Append a link from `source` to an issue's timeline."""
    issue.timeline.append(TimelineEvent(kind, source.repository, source.number))


def add_mentions(world: World, repo: Repository, source: Issue, text: str) -> None:
    """Add an event to every issue that `text` mentions, once for each `source`."""
    origin = Reference(repo.full_name.lower(), source.number)
    for target in find_mentions(text, repo.full_name):
        target_repo = world.repositories.get(target.repository)
        issue = target_repo.issues.get(target.number) if target_repo else None
        if issue is None or target == origin:
            continue
        is_noted = (
            e.kind == "cross-referenced"
            and (e.source_repository, e.source_number) == (origin.repository, origin.number)
            for e in issue.timeline
        )
        if not any(is_noted):
            add_event(issue, "cross-referenced", origin)


def find_closed_issues(
    world: World, repo: Repository, issue: Issue
) -> list[tuple[Repository, Issue]]:
    """Return the issues that a merge closes: by keyword (default branch only) or by a manual link."""
    pull = issue.pull
    targets: list[Reference] = []
    if pull is not None and pull.base_ref == repo.default_branch:
        targets += find_closing_references(issue.body, repo.full_name)
    targets += [
        Reference(repo.full_name.lower(), candidate.number)
        for candidate in repo.issues.values()
        if issue.number in candidate.linked_pulls
    ]
    issues = []
    for target in dict.fromkeys(targets):
        other_repo = world.repositories.get(target.repository)
        other_issue = other_repo.issues.get(target.number) if other_repo else None
        if other_repo and other_issue and other_issue.pull is None and not other_issue.deleted:
            issues.append((other_repo, other_issue))
    return issues


def find_closing_pulls(
    world: World, repo: Repository, issue: Issue
) -> list[tuple[Repository, Issue]]:
    """Return the pull requests that would close an issue, open or not, oldest first."""
    return [
        (other_repo, candidate)
        for other_repo in world.repositories.values()
        for candidate in other_repo.issues.values()
        if candidate.pull is not None
        and any(
            r is repo and i is issue for r, i in find_closed_issues(world, other_repo, candidate)
        )
    ]


def check_body(body: str, resource: str) -> None:
    """Raise 422 for a text over GitHub's limit."""
    if len(body) > MAX_BODY:
        raise invalid(
            resource, "body", "custom", f"body is too long (maximum is {MAX_BODY} characters)"
        )
