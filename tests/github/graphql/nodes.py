"""The values that GraphQL resolvers pass on: records with their context, and pages of them."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphql import GraphQLError

from tests.github.git.changes import CommitInfo, FileChange
from tests.github.world import auth
from tests.github.world.http_values import ApiError, Caller
from tests.github.world.state import (
    CheckSuite,
    Issue,
    Pull,
    Repository,
    Review,
    TimelineEvent,
    User,
)
from tests.github.world.world import World

_MAX_PAGE = 100


@dataclass(frozen=True, slots=True)
class GraphContext:
    """The caller and the world of a query."""

    world: World
    caller: Caller

    def sees(self, repository: Repository) -> bool:
        """Return whether the caller may know of a repository."""
        return auth.visible(self.caller, repository)

    def demand(self, repository: Repository, wanted: str) -> None:
        """Raise FORBIDDEN unless the token has one of the permissions or the repository is public."""
        try:
            auth.authorize(self.caller, repository, auth.needs(wanted), reading=True)
        except ApiError as error:
            raise failure("FORBIDDEN", str(error)) from error


@dataclass(frozen=True, slots=True)
class RepositoryNode:
    """A repository."""

    repository: Repository


@dataclass(frozen=True, slots=True)
class IssueNode:
    """An issue."""

    repository: Repository
    issue: Issue


@dataclass(frozen=True, slots=True)
class PullNode:
    """A pull request; `issue` is the same thing seen as an issue."""

    repository: Repository
    issue: Issue
    pull: Pull


@dataclass(frozen=True, slots=True)
class EventNode:
    """A timeline event of an issue."""

    repository: Repository
    issue: Issue
    event: TimelineEvent


@dataclass(frozen=True, slots=True)
class RefNode:
    """A branch."""

    repository: Repository
    name: str


@dataclass(frozen=True, slots=True)
class CommitNode:
    """A commit."""

    repository: Repository
    info: CommitInfo


@dataclass(frozen=True, slots=True)
class SuiteNode:
    """All check runs of one App on one commit."""

    repository: Repository
    suite: CheckSuite


@dataclass(frozen=True, slots=True)
class StatusNode:
    """The commit statuses of one commit: (context, state) of each."""

    contexts: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class PullCommitNode:
    """A commit as part of a pull request."""

    commit: CommitNode


@dataclass(frozen=True, slots=True)
class BlobNode:
    """A file's content."""

    oid: str
    data: bytes


@dataclass(frozen=True, slots=True)
class EntryNode:
    """A file's place in a tree."""

    blob: BlobNode


@dataclass(frozen=True, slots=True)
class FileNode:
    """A changed file of a pull request."""

    change: FileChange


@dataclass(frozen=True, slots=True)
class ReviewNode:
    """A review of a pull request."""

    repository: Repository
    review: Review


@dataclass(frozen=True, slots=True)
class PageInfo:
    """The position of a page in its list."""

    has_next: bool
    end: str | None
    has_previous: bool
    start: str | None


@dataclass(frozen=True, slots=True)
class Connection:
    """A page of nodes."""

    nodes: Sequence[object]
    page: PageInfo


_EVENTS = {
    "cross-referenced": "CrossReferencedEvent",
    "connected": "ConnectedEvent",
    "disconnected": "DisconnectedEvent",
}
_TYPES: Mapping[type, str] = {
    RepositoryNode: "Repository",
    IssueNode: "Issue",
    PullNode: "PullRequest",
    CommitNode: "Commit",
    BlobNode: "Blob",
}


def type_name(value: object) -> str:
    """The GraphQL type of a node that stands for an interface or a union."""
    if isinstance(value, EventNode):
        return _EVENTS[value.event.kind]
    if isinstance(value, User):
        return value.type
    return _TYPES[type(value)]


def failure(kind: str, message: str) -> GraphQLError:
    """An error with GitHub's `type`."""
    return GraphQLError(message, extensions={"type": kind})


def thread(repository: Repository, issue: Issue) -> IssueNode | PullNode:
    """Return the node of an issue or pull request."""
    if issue.pull is None:
        return IssueNode(repository, issue)
    return PullNode(repository, issue, issue.pull)


def connection(nodes: Sequence[object], arguments: Mapping[str, Any]) -> Connection:
    """Return the page of `nodes` that `first` and `after`, or `last` and `before`, select."""
    first, last = arguments.get("first"), arguments.get("last")
    size = first if first is not None else last
    if size is None:
        raise failure(
            "MISSING_PAGINATION_BOUNDARIES",
            "You must provide a `first` or `last` value to properly paginate the connection.",
        )
    if not 0 <= size <= _MAX_PAGE:
        raise failure(
            "EXCESSIVE_PAGINATION",
            f"Requesting {size} records on the connection exceeds the `first` limit of "
            f"{_MAX_PAGE} records.",
        )
    end = _offset(arguments.get("before"), len(nodes))
    low = _offset(arguments.get("after")) if first is not None else max(0, end - size)
    high = min(end, low + size)
    page = PageInfo(
        has_next=high < len(nodes),
        end=_cursor(high) if high > low else None,
        has_previous=low > 0,
        start=_cursor(low) if high > low else None,
    )
    return Connection(nodes[low:high], page)


def _cursor(position: int) -> str:
    return base64.b64encode(f"cursor:v2:{position}".encode()).decode()


def _offset(cursor: str | None, start: int = 0) -> int:
    if cursor is None:
        return start
    try:
        return int(base64.b64decode(cursor).decode().rpartition(":")[2])
    except (binascii.Error, ValueError) as error:
        raise failure(
            "INVALID_CURSOR_ARGUMENTS", f"`{cursor}` does not appear to be a valid cursor."
        ) from error
