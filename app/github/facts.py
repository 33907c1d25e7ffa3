"""What GitHub says of issues, pull requests and the ways they point at each other (pure).

Facts only: how strong a link is, and who is a rival of whom, is decided in `app.policy.rival_links`.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.values.identifiers import CommitSha, IssueNumber, PullNumber, RepositoryId


class IssueState(StrEnum):
    """Of an issue (never merged) or a pull request."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class Author:
    """Who opened it. A bot's login ends in `[bot]`, as in webhooks."""

    login: str
    is_bot: bool


@dataclass(frozen=True, slots=True)
class PullFacts:
    """A pull request as it stood when it was read."""

    id: int
    number: PullNumber
    repository: str
    """`owner/name`: another repository's pull request can point at our issue."""
    title: str
    body: str
    state: IssueState
    is_draft: bool
    author: Author | None
    """None: the account is gone."""
    base_ref: str
    base_sha: CommitSha
    head_ref: str
    head_sha: CommitSha
    is_from_fork: bool
    additions: int
    deletions: int
    changed_files: int
    created_at: datetime
    updated_at: datetime
    merged_at: datetime | None
    merge_sha: CommitSha | None
    """The commit that brought it to the base; None until it is merged."""


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """Every way in which a pull request points at the issue; several can be true."""

    closes: bool = False
    """GitHub itself lists it as closing the issue, by keyword or by hand."""
    connected: bool = False
    """Connected by hand and not disconnected since."""
    will_close: bool = False
    """Mentioned the issue in words that GitHub reads as closing it."""
    mentions: bool = False


@dataclass(frozen=True, slots=True)
class LinkedPull:
    """A pull request and how it points at the issue."""

    pull: PullFacts
    link: LinkFacts


@dataclass(frozen=True, slots=True)
class ConfigBlob:
    """`.github/r4p.yml` on the default branch."""

    oid: str
    byte_size: int
    text: str | None
    """None: binary, or too long for GitHub to send whole."""


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """The repository as it stood when it was read."""

    id: RepositoryId
    full_name: str
    is_private: bool
    default_branch: str | None
    """None: empty repository."""
    default_sha: CommitSha | None
    config: ConfigBlob | None
    """None: no such file."""


@dataclass(frozen=True, slots=True)
class IssueFacts:
    """One issue with everything that points at it, oldest link first."""

    repository: RepositoryFacts
    id: int
    number: IssueNumber
    title: str
    body: str
    state: IssueState
    state_reason: str | None
    """Such as `completed` or `not_planned`; None while open or when GitHub doesn't say."""
    author: Author | None
    created_at: datetime
    updated_at: datetime
    pulls: tuple[LinkedPull, ...]
    is_complete: bool
    """False: there are more links than we read."""


@dataclass(frozen=True, slots=True)
class HeadFacts:
    """The little of a pull request that must be true at the moment of publishing."""

    number: PullNumber
    state: IssueState
    is_draft: bool
    base_sha: CommitSha
    head_sha: CommitSha


@dataclass(frozen=True, slots=True)
class Heads:
    """An issue and some pull requests, re-read in one call."""

    issue: IssueState | None
    """None: the issue is gone."""
    pulls: tuple[HeadFacts, ...]
    """In the order asked for, without those that are gone."""
    is_locked: bool = False
    """Nobody but members may comment on the issue, and an App is none."""


@dataclass(frozen=True, slots=True)
class IssueMention:
    """An issue by its place, in this repository or another."""

    repository: str
    number: IssueNumber


@dataclass(frozen=True, slots=True)
class PullIssues:
    """A pull request and the issues that GitHub says it closes.

    An empty list is no evidence: GitHub fills it only for pull requests to the default branch.
    """

    pull: PullFacts
    default_branch: str | None
    closes: tuple[IssueMention, ...]
    new_config: ConfigBlob | None = None
    """Our configuration at its head; None: it doesn't change it, or among more than a hundred files."""
