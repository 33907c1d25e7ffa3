"""Read comments, reactions, permissions and pull requests from GitHub over REST. `publisher` writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar
from urllib.parse import quote

from app.github.api_call import Call, Method
from app.github.errors import NotFound, Unprocessable
from app.github.http.auth import Purpose, Scope
from app.github.http.connection import GitHub
from app.github.http.transport import PER_PAGE
from app.github.wire import rest
from app.values.identifiers import (
    CommentId,
    InstallationId,
    IssueNumber,
    PullNumber,
    RepositoryId,
    RepositoryRef,
)
from app.values.permission import Permission


@dataclass(frozen=True, slots=True)
class CommentFacts:
    """One comment on an issue or a pull request, as GitHub returns it."""

    id: CommentId
    body: str
    is_ours: bool
    """True when the bot's App wrote the comment."""


@dataclass(frozen=True, slots=True)
class ReactionFacts:
    """The reaction of one person to a comment, as GitHub returns it."""

    id: int
    content: str
    """GitHub's name of the reaction: `+1`, `-1`, `eyes`, …"""
    user: str | None
    user_id: int | None
    is_bot: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ReviewComment:
    """A review's comment on one line of a file. Untrusted text."""

    path: str
    body: str


@dataclass(frozen=True, slots=True)
class Thread:
    """An issue or a pull request in GitHub's list of issues."""

    number: int
    is_pull: bool
    is_open: bool
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class PersonComment:
    """A person's comment on an issue or a pull request that nobody edited. Untrusted text."""

    id: CommentId
    thread: int
    """Number of the issue or pull request."""
    is_pull: bool
    body: str
    author: str
    author_id: int
    association: str
    """GitHub's role of the author, for display only."""
    created_at: datetime


Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class ChangePage(Generic[Entry]):
    """A page of one of GitHub's lists, oldest change first."""

    entries: tuple[Entry, ...]
    """The entries that the bot uses."""
    last: datetime | None
    """Time of the last change on the page, in whole seconds; None: the page is empty."""
    is_full: bool
    """Another page may follow."""


def read_permission(github: GitHub, repository: RepositoryRef, login: str) -> Permission:
    """Return the permission of the account `login` in a repository; NONE for an account that GitHub does not know.

    GitHub's field `author_association` is no substitute, because private members show as contributors. Raises NotFound
    when the repository or the installation is gone.
    """
    path = f"/repos/{repository.full_name}/collaborators/{quote(login, safe='')}/permission"
    try:
        answer = github.get(repository, path)
    except NotFound:
        _require_same(github, repository)
        return Permission.NONE
    granted = rest.read_slice(rest.PermissionSlice, _build_call(path), answer)
    both = (Permission.parse(granted.permission), Permission.parse(granted.role_name))
    return max(both, key=lambda permission: permission.rank)


def _require_same(github: GitHub, repository: RepositoryRef) -> None:
    """Raise NotFound when the repository is gone, or another one has its name."""
    path = f"/repos/{repository.full_name}"
    present = rest.read_slice(rest.CreatedObject, _build_call(path), github.get(repository, path))
    if present.id != repository.id:
        raise NotFound(
            f"{repository.full_name} is now repository {present.id}, not {repository.id}"
        )


def has_repository(github: GitHub, installation: InstallationId, number: RepositoryId) -> bool:
    """Return whether the installation may see the repository with the id `number`.

    Raises Forbidden while the installation is suspended.
    """
    scope = Scope(installation, number, Purpose.SEE)
    github.tokens.forget(scope)
    try:
        github.tokens.get_token(scope)
    except (NotFound, Unprocessable):
        return False
    return True


def list_comments(
    github: GitHub, repository: RepositoryRef, number: IssueNumber
) -> tuple[CommentFacts, ...]:
    """Return all comments on the issue or pull request `number`, oldest first."""
    path = f"/repos/{repository.full_name}/issues/{number}/comments"
    scope = Scope.for_repository(repository, Purpose.PUBLISH)
    by_id: dict[int, CommentFacts] = {}
    for answer in github.iterate_pages(scope, path):
        for item in rest.read_slice(tuple[rest.CommentSlice, ...], _build_call(path), answer):
            is_ours = item.is_by(github.app.id)
            by_id[item.id] = CommentFacts(CommentId(item.id), item.body, is_ours)
    return tuple(by_id.values())


def list_reactions(
    github: GitHub, repository: RepositoryRef, comment_id: CommentId
) -> tuple[ReactionFacts, ...]:
    """Return the first 100 reactions to an issue comment. Reading an unchanged list again costs no API quota."""
    path = f"/repos/{repository.full_name}/issues/comments/{comment_id}/reactions"
    answer = github.get_conditional(repository, path, {"per_page": 100})
    return tuple(
        ReactionFacts(
            id=item.id,
            content=item.content,
            user=item.user.login if item.user else None,
            user_id=item.user.id if item.user else None,
            is_bot=item.user is not None and item.user.type == "Bot",
            created_at=item.created_at,
        )
        for item in rest.read_slice(tuple[rest.ReactionSlice, ...], _build_call(path), answer)
    )


def list_review_comments(
    github: GitHub, repository: RepositoryRef, pull: PullNumber, review: int
) -> tuple[ReviewComment, ...]:
    """Return the first 100 comments on lines of code in the review with the id `review`.

    Raises NotFound when the review is gone.
    """
    path = f"/repos/{repository.full_name}/pulls/{pull}/reviews/{review}/comments"
    answer = github.get(repository, path, {"per_page": 100})
    return tuple(
        ReviewComment(item.path, item.body)
        for item in rest.read_slice(tuple[rest.ReviewCommentSlice, ...], _build_call(path), answer)
    )


def list_changed_threads(
    github: GitHub, repository: RepositoryRef, since: datetime, page: int, *, state: str = "all"
) -> ChangePage[Thread]:
    """Return one page of the issues and pull requests that changed at `since` or later, oldest change first.

    `state` is `all` or `open`. Reading an unchanged page again costs no API quota.
    """
    path = f"/repos/{repository.full_name}/issues"
    query = _build_change_query(since, page) | {"state": state}
    answer = github.get_conditional(repository, path, query)
    items = rest.read_slice(tuple[rest.ThreadSlice, ...], _build_call(path), answer)
    threads = (
        Thread(
            number=item.number,
            is_pull=item.pull_request is not None,
            is_open=item.state == "open",
            updated_at=item.updated_at,
        )
        for item in items
    )
    return ChangePage(tuple(threads), _find_last(items), len(items) == PER_PAGE)


def list_changed_comments(
    github: GitHub, repository: RepositoryRef, since: datetime, page: int
) -> ChangePage[PersonComment]:
    """Return one page of the repository's comments that changed at `since` or later, oldest change first.

    Comments of bots and comments that somebody edited are left out, because they never command. Reading an unchanged
    page again costs no API quota.
    """
    path = f"/repos/{repository.full_name}/issues/comments"
    answer = github.get_conditional(repository, path, _build_change_query(since, page))
    items = rest.read_slice(tuple[rest.WrittenComment, ...], _build_call(path), answer)
    comments = (
        PersonComment(
            id=CommentId(item.id),
            thread=int(item.issue_url.rpartition("/")[2]),
            is_pull=item.html_url.split("/")[-2] == "pull",
            body=item.body,
            author=item.user.login,
            author_id=item.user.id,
            association=item.author_association,
            created_at=item.created_at,
        )
        for item in items
        if item.user is not None and item.user.type == "User" and item.updated_at == item.created_at
    )
    return ChangePage(tuple(comments), _find_last(items), len(items) == PER_PAGE)


def _build_change_query(since: datetime, page: int) -> dict[str, str | int]:
    return {
        "sort": "updated",
        "direction": "asc",
        "since": _format_time(since),
        "per_page": PER_PAGE,
        "page": page,
    }


def _find_last(items: Sequence[rest.ThreadSlice | rest.WrittenComment]) -> datetime | None:
    return items[-1].updated_at if items else None


def _format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _build_call(path: str) -> Call:
    return Call(Method.GET, path)
