"""Define what GitHub says about issues, pull requests and their links (pure).

These are facts only: `app.policy.rival_links` decides how strong a link is and which pull requests
are rivals.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.values.identifiers import CommitSha, IssueNumber, PullNumber
from model.domain import CiState


class IssueState(StrEnum):
    """The state of an issue, or of a pull request. Only a pull request can be merged."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as GitHub describes it at the time of reading."""

    number: PullNumber
    repository: str
    """`owner/name`. A pull request of another repository can link to the issue too."""
    body: str
    state: IssueState
    is_draft: bool
    author: str | None
    """The author's login, which ends in `[bot]` for a bot. None when the account is gone."""
    base_ref: str
    base_sha: CommitSha
    head_sha: CommitSha
    association: str = "NONE"
    """GitHub's word for the author's relation to the repository, such as `MEMBER`. It proves no right."""


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """All the ways in which a pull request links to an issue; several can be true."""

    closes: bool = False
    """GitHub lists the pull request as closing the issue, by keyword or by hand."""
    connected: bool = False
    """A person connected the two by hand, and nobody disconnected them since."""
    will_close: bool = False
    """The pull request mentions the issue in words that GitHub reads as closing."""
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
    """The file's text. None: it is binary, or too long for GitHub to send whole."""


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What GitHub says about a repository at the time of reading, with its settings file."""

    full_name: str
    default_branch: str | None
    """Name of the default branch; None: the repository is empty."""
    default_sha: CommitSha | None
    config: ConfigBlob | None
    """The settings file on the default branch; None: there is no such file."""
    is_archived: bool = False
    is_fork: bool = False


@dataclass(frozen=True, slots=True)
class IssueFacts:
    """What GitHub says about an issue, with all pull requests that link to it."""

    repository: RepositoryFacts
    number: IssueNumber
    title: str
    body: str
    state: IssueState
    pulls: tuple[LinkedPull, ...]
    is_complete: bool
    """False when GitHub has more links than the bot reads."""


@dataclass(frozen=True, slots=True)
class CommitCheck:
    """One check run or commit status of a commit, by anyone but the bot."""

    name: str
    state: CiState
    """`NOT_RUN` for a check that was skipped or cancelled, ran out of time or ended without a result."""


@dataclass(frozen=True, slots=True)
class HeadFacts:
    """State and head commit of a pull request, read again just before a verdict is published."""

    number: PullNumber
    state: IssueState
    head_sha: CommitSha
    checks: tuple[CommitCheck, ...] = ()
    """The checks of the head that the App may see."""
    title: str = ""
    """Untrusted text."""
    author: str = ""
    """Login of the author; empty: the account is gone."""


@dataclass(frozen=True, slots=True)
class Heads:
    """The state of an issue and the heads of some of its pull requests, read again in one call."""

    issue: IssueState | None
    """None when the issue is gone."""
    pulls: tuple[HeadFacts, ...]
    """In the requested order, without deleted ones."""
    is_locked: bool = False
    """True when only members may comment on the issue; an App is no member."""
    base_checks: tuple[CommitCheck, ...] = ()
    """The checks of the default branch's newest commit."""


@dataclass(frozen=True, slots=True)
class PersonReview:
    """A review that a person submitted and that nobody edited or dismissed. Untrusted text."""

    pull: PullNumber
    id: int
    state: str
    """GitHub's word in capitals: `APPROVED`, `CHANGES_REQUESTED` or `COMMENTED`."""
    body: str
    author: str
    author_id: int
    head: CommitSha | None
    submitted_at: datetime


@dataclass(frozen=True, slots=True)
class IssueMention:
    """A reference to an issue: its repository (`owner/name`) and its number."""

    repository: str
    number: IssueNumber


@dataclass(frozen=True, slots=True)
class PullIssues:
    """A pull request and the issues that GitHub says it closes.

    An empty `closes` proves nothing: GitHub fills it only for pull requests to the default branch.
    """

    pull: PullRequest
    default_branch: str | None
    closes: tuple[IssueMention, ...]
    new_config: ConfigBlob | None = None
    """The settings file at the head; None when the pull request does not change it, or not among its first 100 files.
    """
    merge_commit: CommitSha | None = None
    """The commit that merged it; None: it is not merged, or GitHub does not tell."""
