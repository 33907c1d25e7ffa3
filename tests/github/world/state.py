"""Plain mutable records: users, repositories, issues, checks, Apps.

A pull request is an issue with a `pull` part, as on GitHub. Nothing here decides or talks.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from pathlib import Path
from random import Random
from typing import ClassVar


class Role(StrEnum):
    """A collaborator's role; the permission level GitHub derives from it is narrower."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"


@dataclass(slots=True)
class User:
    """A person, organisation or bot; the API shows a deleted account as null."""

    id: int
    login: str
    type: str = "User"
    deleted: bool = False


@dataclass(slots=True)
class AppRecord:
    """A registered GitHub App with its webhook."""

    id: int
    slug: str
    owner: User
    bot: User
    client_id: str
    private_key: str
    public_key: str
    webhook_secret: str
    webhook_url: str
    hook_id: int
    permissions: dict[str, str]
    events: tuple[str, ...]
    created_at: float


@dataclass(slots=True)
class Installation:
    """An App on some repositories of one account."""

    id: int
    app: AppRecord
    account: User
    repository_ids: set[int]
    permissions: dict[str, str]
    created_at: float
    updated_at: float
    suspended_at: float | None = None
    suspended_by: User | None = None
    selection: str = "selected"


@dataclass(slots=True)
class Token:
    """An installation token with its permissions, repositories and simulated end."""

    value: str
    installation: Installation
    permissions: dict[str, str]
    repository_ids: frozenset[int] | None
    """None means every repository of the installation."""
    expires_at: float


@dataclass(slots=True)
class Reaction:
    """A reaction to a comment, such as a thumb."""

    id: int
    user: User
    content: str
    created_at: float


@dataclass(slots=True)
class Comment:
    """An issue comment (pull requests use the same)."""

    id: int
    number: int
    author: User
    body: str
    created_at: float
    updated_at: float
    app: AppRecord | None = None
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """A link on an issue's timeline from another issue or pull request."""

    kind: str
    """`cross-referenced`, `connected` or `disconnected`."""
    source_repository: str
    source_number: int


@dataclass(frozen=True, slots=True)
class LineComment:
    """A review's remark on a line of a file."""

    id: int
    path: str
    line: int
    body: str


@dataclass(slots=True)
class Review:
    """A submitted pull-request review."""

    id: int
    author: User
    state: str
    body: str
    commit_id: str
    submitted_at: float
    comments: tuple[LineComment, ...] = ()
    edited_at: float | None = None


@dataclass(slots=True)
class Pull:
    """The part of an issue that makes it a pull request."""

    id: int
    base_ref: str
    base_sha: str
    head_ref: str
    head_sha: str
    head_owner: User
    is_fork: bool
    draft: bool
    merged_at: float | None = None
    merged_by: User | None = None
    merge_commit_sha: str | None = None
    merged_onto: str | None = None
    """The base branch's tip just before the merge."""
    reviews: list[Review] = field(default_factory=list)


@dataclass(slots=True)
class Issue:
    """An issue, or with `pull` set a pull request."""

    id: int
    number: int
    title: str
    body: str
    author: User
    created_at: float
    updated_at: float
    state: str = "open"
    state_reason: str | None = None
    locked: bool = False
    closed_at: float | None = None
    closed_by: User | None = None
    deleted: bool = False
    timeline: list[TimelineEvent] = field(default_factory=list)
    linked_pulls: set[int] = field(default_factory=set)
    labels: list[str] = field(default_factory=list)
    """Names of the labels, in the order of their addition."""
    pull: Pull | None = None


@dataclass(slots=True)
class CheckSuite:
    """All check runs of one app on one commit."""

    id: int
    head_sha: str
    app_slug: str
    created_at: float
    updated_at: float
    status: str = "queued"
    conclusion: str | None = None


@dataclass(slots=True)
class CheckRun:
    """A check of one commit."""

    id: int
    name: str
    head_sha: str
    suite_id: int
    app_slug: str
    status: str
    started_at: float
    conclusion: str | None = None
    completed_at: float | None = None
    external_id: str | None = None
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    actions: dict[str, str] = field(default_factory=dict)
    """Labels of its buttons by identifier."""


@dataclass(slots=True)
class Repository:
    """A repository and everything that lives in it; its commits are in `git_dir`."""

    id: int
    owner: User
    name: str
    private: bool
    default_branch: str
    git_dir: Path
    created_at: float
    pushed_at: float
    has_pull_requests: bool = True
    creation_policy: str = "all"
    """Who may open pull requests: `all` or `collaborators_only`."""
    is_archived: bool = False
    is_fork: bool = False
    branches: dict[str, str] = field(default_factory=dict)
    collaborators: dict[int, Role] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    suites: dict[int, CheckSuite] = field(default_factory=dict)
    checks: dict[int, CheckRun] = field(default_factory=dict)
    statuses: dict[str, dict[str, str]] = field(default_factory=dict)
    """State of each commit status by its context, by commit."""

    @property
    def full_name(self) -> str:
        """`owner/name` as GitHub spells it."""
        return f"{self.owner.login}/{self.name}"

    @property
    def head_sha(self) -> str:
        """The tip of the default branch."""
        return self.branches[self.default_branch]

    def comments_of(self, number: int) -> list[Comment]:
        """Return the comments of an issue, oldest first."""
        return [c for c in self.comments.values() if c.number == number]

    def pull_heads(self, sha: str) -> list[Issue]:
        """Return the open pull requests with the head `sha`."""
        return [
            i
            for i in self.issues.values()
            if i.pull is not None and i.pull.head_sha == sha and i.state == "open"
        ]


class Ids:
    """Numeric ids by kind, seeded. Comments and checks lie above 2^31, as GitHub's do today."""

    _FIRST: ClassVar = {
        "comment": 3_000_000_000,
        "check": 40_000_000_000,
        "delivery": 200_000_000_000,
    }

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self._counters = {
            kind: count(first + self.random.randrange(10**6)) for kind, first in self._FIRST.items()
        }
        # Issue and pull-request ids stay below 2^31: GraphQL's databaseId is a 32-bit Int.
        self._other = count(1_000_000 + self.random.randrange(10**6))

    def next(self, kind: str) -> int:
        """Return a new id; ids of a kind ascend."""
        return next(self._counters.get(kind, self._other))

    def guid(self) -> str:
        """Return a new delivery GUID in GitHub's form."""
        digits = f"{self.random.getrandbits(128):032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
