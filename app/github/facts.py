"""Define what GitHub says about issues, pull requests and their links (pure).

These are facts only: `app.policy.rival_links` decides how strong a link is and which pull requests
are rivals.
"""

from dataclasses import dataclass
from enum import StrEnum

from app.values.identifiers import CommitSha, IssueNumber, PullNumber


class IssueState(StrEnum):
    """The state of an issue (never merged) or of a pull request."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as GitHub describes it at the time of reading."""

    number: PullNumber
    repository: str
    """`owner/name`: a pull request of another repository can link to the issue."""
    body: str
    state: IssueState
    is_draft: bool
    author: str | None
    """The author's login, which ends in `[bot]` for a bot. None when the account is gone."""
    base_ref: str
    base_sha: CommitSha
    head_sha: CommitSha


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """All the ways in which a pull request links to an issue; several can be true."""

    closes: bool = False
    """GitHub lists the pull request as closing the issue, by keyword or by hand."""
    connected: bool = False
    """Connected by hand and not disconnected since."""
    will_close: bool = False
    """The pull request mentions the issue in words that close it."""
    mentions: bool = False


@dataclass(frozen=True, slots=True)
class LinkedPull:
    """A pull request and its links to an issue."""

    pull: PullRequest
    link: LinkFacts


@dataclass(frozen=True, slots=True)
class ConfigBlob:
    """The settings file `.github/r4p.yml` as GitHub holds it at one commit."""

    byte_size: int
    text: str | None
    """None: binary, or too long for GitHub to send whole."""


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What GitHub says about a repository at the time of reading, with its settings file."""

    full_name: str
    default_branch: str | None
    """None: empty repository."""
    default_sha: CommitSha | None
    config: ConfigBlob | None
    """None: no such file."""


@dataclass(frozen=True, slots=True)
class IssueFacts:
    """An issue with all pull requests that link to it, oldest link first."""

    repository: RepositoryFacts
    number: IssueNumber
    title: str
    body: str
    state: IssueState
    pulls: tuple[LinkedPull, ...]
    is_complete: bool
    """False when there are more links than the bot reads."""


@dataclass(frozen=True, slots=True)
class HeadFacts:
    """The facts of a pull request that must hold when a verdict is published."""

    number: PullNumber
    state: IssueState
    head_sha: CommitSha


@dataclass(frozen=True, slots=True)
class Heads:
    """The state of an issue and the heads of some of its pull requests, read again in one call."""

    issue: IssueState | None
    """None when the issue is gone."""
    pulls: tuple[HeadFacts, ...]
    """In the requested order, without deleted ones."""
    is_locked: bool = False
    """True when only members may comment on the issue; an App is no member."""


@dataclass(frozen=True, slots=True)
class IssueMention:
    """An issue by repository and number."""

    repository: str
    number: IssueNumber


@dataclass(frozen=True, slots=True)
class PullIssues:
    """A pull request and the issues that GitHub says it closes.

    An empty list proves nothing: GitHub fills it only for pull requests to the default branch.
    """

    pull: PullRequest
    default_branch: str | None
    closes: tuple[IssueMention, ...]
    new_config: ConfigBlob | None = None
    """The configuration file at the head; None when it is unchanged, or not among the first 100
    files."""
