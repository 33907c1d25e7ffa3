"""What people contribute: pull requests, issues, comments, reviews and pushes (pure)."""

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
"""Where a repository's configuration may stand on its default branch; the first found wins."""

_COMMITS_LISTED = 2_048  # GitHub lists no more in one push
_MESSAGE_LIMIT = 1_000
_TITLE_LIMIT = 1_024
_PATH_LIMIT = 4_096


def pull_request(source: Source) -> PullRequestEvent:
    """A pull request changed."""
    pull = source.payload.part("pull_request")
    head, base = pull.part("head"), pull.part("base")
    pushed = source.action == PullAction.SYNCHRONIZE
    return PullRequestEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        action=PullAction(source.action),
        number=PullNumber(pull.number("number")),
        title=pull.text("title", _TITLE_LIMIT),
        body=pull.maybe_text("body", BODY_LIMIT) or "",
        author=read_actor(pull, "user"),
        draft=pull.flag("draft"),
        merged=pull.flag("merged"),
        merge_commit=pull.maybe_sha("merge_commit_sha"),
        head=head.sha("sha"),
        base=base.sha("sha"),
        base_ref=base.text("ref", NAME_LIMIT),
        default_branch=source.payload.part("repository").text("default_branch", NAME_LIMIT),
        before=source.payload.maybe_sha("before") if pushed else None,
        base_before=_base_change(source.payload),
        at=pull.moment("updated_at"),
    )


def _base_change(payload: Payload) -> BaseChange | None:
    changes = payload.maybe_part("changes")
    base = changes.maybe_part("base") if changes else None
    if base is None:
        return None
    sha = base.maybe_part("sha")
    return BaseChange(
        ref=base.part("ref").text("from", NAME_LIMIT),
        sha=sha.maybe_sha("from") if sha else None,
    )


def issue(source: Source) -> IssueEvent:
    """An issue changed."""
    issue = source.payload.part("issue")
    return IssueEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        action=IssueAction(source.action),
        number=IssueNumber(issue.number("number")),
        title=issue.text("title", _TITLE_LIMIT),
        body=issue.maybe_text("body", BODY_LIMIT) or "",
        author=read_actor(issue, "user"),
        state_reason=issue.maybe_text("state_reason", NAME_LIMIT),
        at=issue.moment("updated_at"),
    )


def comment(source: Source) -> CommentEvent | Ignored:
    """A new comment, unless a bot wrote or sent it: bots never command."""
    issue, comment = source.payload.part("issue"), source.payload.part("comment")
    author = read_actor(comment, "user")
    if author.is_bot or source.sender.is_bot:
        return Ignored("a bot's comment")
    return CommentEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        number=issue.number("number"),
        on_pull_request=issue.maybe_part("pull_request") is not None,
        comment=CommentId(comment.number("id")),
        body=comment.maybe_text("body", BODY_LIMIT) or "",
        author=author,
        association=comment.maybe_text("author_association", NAME_LIMIT) or "NONE",
        at=comment.moment("created_at"),
    )


def review(source: Source) -> ReviewEvent | Ignored:
    """A review, unless it is a bot's."""
    review = source.payload.part("review")
    author = read_actor(review, "user")
    if author.is_bot:
        return Ignored("a bot's review")
    return ReviewEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        action=ReviewAction(source.action),
        number=PullNumber(source.payload.part("pull_request").number("number")),
        review=review.number("id"),
        # The API writes states in capitals, webhooks in small letters.
        state=review.text("state", NAME_LIMIT).lower(),
        body=review.maybe_text("body", BODY_LIMIT) or "",
        author=author,
        commit=review.maybe_sha("commit_id"),
        at=review.moment("submitted_at"),
    )


def push(source: Source) -> PushEvent | Ignored:
    """The default branch moved; pushes elsewhere reach us as pull request events."""
    payload = source.payload
    branch = payload.part("repository").text("default_branch", NAME_LIMIT)
    if payload.text("ref", _PATH_LIMIT) != f"refs/heads/{branch}":
        return Ignored("a push beside the default branch")
    if payload.flag("deleted"):
        return Ignored("the default branch was deleted")
    commits = tuple(payload.parts("commits"))
    forced = payload.flag("forced")
    unlisted = forced or payload.flag("created") or len(commits) >= _COMMITS_LISTED
    return PushEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        before=payload.sha("before"),
        after=payload.sha("after"),
        forced=forced,
        commits=tuple(
            PushedCommit(commit.sha("id"), commit.text("message", _MESSAGE_LIMIT))
            for commit in commits[:_COMMITS_LISTED]
        ),
        config_touched=unlisted or any(map(_touches_config, commits)),
    )


def _touches_config(commit: Payload) -> bool:
    return any(
        path in CONFIG_PATHS
        for kind in ("added", "modified", "removed")
        for path in commit.texts(kind, _PATH_LIMIT)
    )
