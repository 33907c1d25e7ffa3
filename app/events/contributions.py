"""Reads deliveries about people's work: pull requests, issues, comments, reviews and pushes (pure)."""

from app.events.delivery_source import NAME_LIMIT, Source, read_actor
from app.events.event import (
    BaseChange,
    CommentEvent,
    Ignored,
    IssueAction,
    IssueEvent,
    PullAction,
    PullRequestEvent,
    PushedCommit,
    PushEvent,
    ReviewAction,
    ReviewEvent,
)
from app.events.payload import BODY_LIMIT, Payload
from app.values.identifiers import CommentId, IssueNumber, PullNumber

CONFIG_PATHS = (".github/r4p.yml",)
"""Paths of a repository's configuration on its default branch. The first existing file counts."""

_COMMITS_LISTED = 2_048  # GitHub lists no more in one push
_MESSAGE_LIMIT = 1_000
_TITLE_LIMIT = 1_024
_PATH_LIMIT = 4_096


def read_pull_request(source: Source) -> PullRequestEvent:
    """Return the event of a delivery about a change of a pull request."""
    pull = source.payload.get_object("pull_request")
    head, base = pull.get_object("head"), pull.get_object("base")
    pushed = source.action == PullAction.SYNCHRONIZE
    return PullRequestEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        action=PullAction(source.action),
        number=PullNumber(pull.get_number("number")),
        title=pull.get_text("title", _TITLE_LIMIT),
        body=pull.find_text("body", BODY_LIMIT) or "",
        author=read_actor(pull, "user"),
        draft=pull.get_flag("draft"),
        merged=pull.get_flag("merged"),
        merge_commit=pull.find_sha("merge_commit_sha"),
        opened_at=pull.find_time("created_at"),
        lock_reason=pull.find_text("active_lock_reason", NAME_LIMIT),
        head=head.get_sha("sha"),
        base=base.get_sha("sha"),
        base_ref=base.get_text("ref", NAME_LIMIT),
        default_branch=source.payload.get_object("repository").get_text(
            "default_branch", NAME_LIMIT
        ),
        before=source.payload.find_sha("before") if pushed else None,
        base_before=_read_base_change(source.payload),
        occurred_at=pull.find_time("updated_at"),
    )


def _read_base_change(payload: Payload) -> BaseChange | None:
    changes = payload.find_object("changes")
    base = changes.find_object("base") if changes else None
    if base is None:
        return None
    sha = base.find_object("sha")
    return BaseChange(
        ref=base.get_object("ref").get_text("from", NAME_LIMIT),
        sha=sha.find_sha("from") if sha else None,
    )


def read_issue(source: Source) -> IssueEvent:
    """Return the event of a delivery about a change of an issue."""
    issue = source.payload.get_object("issue")
    return IssueEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        action=IssueAction(source.action),
        number=IssueNumber(issue.get_number("number")),
        title=issue.get_text("title", _TITLE_LIMIT),
        body=issue.find_text("body", BODY_LIMIT) or "",
        author=read_actor(issue, "user"),
        state_reason=issue.find_text("state_reason", NAME_LIMIT),
        occurred_at=issue.find_time("updated_at"),
    )


def read_comment(source: Source) -> CommentEvent | Ignored:
    """Return the event of a delivery about a new comment on an issue or a pull request.

    A bot's comment is Ignored, because bots never command.
    """
    issue, comment = source.payload.get_object("issue"), source.payload.get_object("comment")
    author = read_actor(comment, "user")
    if author.is_bot or source.sender.is_bot:
        return Ignored("a bot's comment")
    return CommentEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        number=issue.get_number("number"),
        on_pull_request=issue.find_object("pull_request") is not None,
        comment=CommentId(comment.get_number("id")),
        body=comment.find_text("body", BODY_LIMIT) or "",
        author=author,
        association=comment.find_text("author_association", NAME_LIMIT) or "NONE",
        occurred_at=comment.find_time("created_at"),
        is_locked=issue.get_flag("locked"),
    )


def read_review(source: Source) -> ReviewEvent | Ignored:
    """Return the event of a delivery about a review of a pull request. A bot's review is Ignored."""
    pull, review = source.payload.get_object("pull_request"), source.payload.get_object("review")
    author = read_actor(review, "user")
    if author.is_bot:
        return Ignored("a bot's review")
    return ReviewEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        action=ReviewAction(source.action),
        number=PullNumber(pull.get_number("number")),
        review=review.get_number("id"),
        # The API writes states in capitals, webhooks in small letters.
        state=review.get_text("state", NAME_LIMIT).lower(),
        body=review.find_text("body", BODY_LIMIT) or "",
        author=author,
        commit=review.find_sha("commit_id"),
        occurred_at=review.find_time("submitted_at"),
        is_locked=pull.get_flag("locked"),
    )


def read_push(source: Source) -> PushEvent | Ignored:
    """Return the event of a delivery about a push to the default branch; other pushes are Ignored.

    Pushes to other branches arrive as pull request events.
    """
    payload = source.payload
    branch = payload.get_object("repository").get_text("default_branch", NAME_LIMIT)
    if payload.get_text("ref", _PATH_LIMIT) != f"refs/heads/{branch}":
        return Ignored("a push beside the default branch")
    if payload.get_flag("deleted"):
        return Ignored("the default branch was deleted")
    commits = tuple(payload.list_objects("commits"))
    forced = payload.get_flag("forced")
    unlisted = forced or payload.get_flag("created") or len(commits) >= _COMMITS_LISTED
    return PushEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        before=payload.get_sha("before"),
        after=payload.get_sha("after"),
        forced=forced,
        commits=tuple(
            PushedCommit(commit.get_sha("id"), commit.get_text("message", _MESSAGE_LIMIT))
            for commit in commits[:_COMMITS_LISTED]
        ),
        config_touched=unlisted or any(map(_touches_config, commits)),
    )


def _touches_config(commit: Payload) -> bool:
    return any(
        path in CONFIG_PATHS
        for kind in ("added", "modified", "removed")
        for path in commit.list_texts(kind, _PATH_LIMIT)
    )
