"""The events the bot acts on, as frozen values (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.values.identifiers import (
    AskedIn,
    CommentId,
    CommitSha,
    DeliveryGuid,
    InstallationId,
    IssueNumber,
    PullNumber,
    RepositoryId,
    RepositoryRef,
)


@dataclass(frozen=True, slots=True)
class Actor:
    """An account. Its right to command is asked of GitHub, never read from a payload."""

    id: int
    login: str
    is_bot: bool


GHOST = Actor(10137, "ghost", is_bot=False)
"""GitHub's placeholder for an account that was deleted."""


@dataclass(frozen=True, slots=True)
class RepositoryEvent:
    """What every event about a repository knows."""

    delivery: DeliveryGuid
    repository: RepositoryRef
    sender: Actor

    @property
    def installation(self) -> InstallationId:
        return self.repository.installation


class PullAction(StrEnum):
    """What happened to a pull request."""

    OPENED = "opened"
    EDITED = "edited"
    SYNCHRONIZE = "synchronize"
    READY_FOR_REVIEW = "ready_for_review"
    CONVERTED_TO_DRAFT = "converted_to_draft"
    REOPENED = "reopened"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class BaseChange:
    """Where a pull request pointed before its base was changed."""

    ref: str
    sha: CommitSha | None


@dataclass(frozen=True, slots=True)
class PullRequestEvent(RepositoryEvent):
    """A pull request changed; its facts are those at the time of sending, which may be long ago."""

    action: PullAction
    number: PullNumber
    title: str
    body: str
    author: Actor
    draft: bool
    merged: bool
    merge_commit: CommitSha | None
    """While open this is GitHub's test merge, not a commit of the default branch."""
    head: CommitSha
    base: CommitSha
    base_ref: str
    default_branch: str
    before: CommitSha | None
    """The head before a push; None for every other action."""
    base_before: BaseChange | None
    at: datetime | None


class IssueAction(StrEnum):
    """What happened to an issue."""

    OPENED = "opened"
    EDITED = "edited"
    CLOSED = "closed"
    REOPENED = "reopened"
    DELETED = "deleted"
    TRANSFERRED = "transferred"


@dataclass(frozen=True, slots=True)
class IssueEvent(RepositoryEvent):
    """An issue changed."""

    action: IssueAction
    number: IssueNumber
    title: str
    body: str
    author: Actor
    state_reason: str | None
    """`completed`, `not_planned`, `duplicate`, `reopened` or None."""
    at: datetime | None


@dataclass(frozen=True, slots=True)
class CommentEvent(RepositoryEvent):
    """A person wrote a new comment on an issue or in a pull request's conversation."""

    number: int
    on_pull_request: bool
    comment: CommentId
    body: str
    author: Actor
    association: str
    """GitHub's claim, for display only: it hides private members and proves no right."""
    at: datetime | None

    @property
    def asked_in(self) -> AskedIn:
        return AskedIn(str(self.comment))


class ReviewAction(StrEnum):
    """What happened to a review."""

    SUBMITTED = "submitted"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True)
class ReviewEvent(RepositoryEvent):
    """A person reviewed a pull request, or a review was withdrawn."""

    action: ReviewAction
    number: PullNumber
    review: int
    state: str
    """`approved`, `changes_requested`, `commented` or `dismissed`."""
    body: str
    author: Actor
    commit: CommitSha | None
    """GitHub re-points it after a force-push, so it doesn't prove which commit was read."""
    at: datetime | None

    @property
    def asked_in(self) -> AskedIn:
        return AskedIn(f"review-{self.review}")

    @property
    def on_pull_request(self) -> bool:
        return True

    @property
    def may_command(self) -> bool:
        """A dismissal repeats what was submitted, and bots never command."""
        return self.action is ReviewAction.SUBMITTED and not self.sender.is_bot


class CheckAction(StrEnum):
    """What happened to a check."""

    COMPLETED = "completed"
    REREQUESTED = "rerequested"
    REQUESTED_ACTION = "requested_action"


@dataclass(frozen=True, slots=True)
class CheckEvent(RepositoryEvent):
    """CI finished, or somebody pressed a button on one of our checks."""

    action: CheckAction
    is_suite: bool
    """A suite stands for all checks of one App on a commit; otherwise it is a single run."""
    id: int
    name: str
    """Empty for a suite."""
    head: CommitSha
    conclusion: str | None
    app_id: int
    app_slug: str
    pulls: tuple[PullNumber, ...]
    """Often empty for pull requests from forks."""
    external_id: str
    """What we wrote when we made the run; empty for others' runs and for suites."""
    button: str | None
    """Identifier of the pressed button, for `requested_action`."""
    at: datetime | None
    output: str = ""
    """What a single run prints: title, summary and text. Untrusted, and often empty."""


@dataclass(frozen=True, slots=True)
class PushedCommit:
    """One commit of a push; the message is cut."""

    sha: CommitSha
    message: str


@dataclass(frozen=True, slots=True)
class PushEvent(RepositoryEvent):
    """The default branch moved."""

    before: CommitSha
    after: CommitSha
    forced: bool
    commits: tuple[PushedCommit, ...]
    config_touched: bool
    """Also true when the push doesn't say all it changed."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as an installation event lists it."""

    id: RepositoryId
    full_name: str


class InstallationAction(StrEnum):
    """What happened to an installation."""

    CREATED = "created"
    DELETED = "deleted"
    SUSPEND = "suspend"
    UNSUSPEND = "unsuspend"
    NEW_PERMISSIONS_ACCEPTED = "new_permissions_accepted"


@dataclass(frozen=True, slots=True)
class InstallationEvent:
    """The App was installed, removed, suspended, resumed or given more rights."""

    delivery: DeliveryGuid
    installation: InstallationId
    account: str
    sender: Actor
    action: InstallationAction
    repositories: tuple[Repository, ...]


@dataclass(frozen=True, slots=True)
class InstallationRepositoriesEvent:
    """Repositories were put into an installation or taken out of it."""

    delivery: DeliveryGuid
    installation: InstallationId
    account: str
    sender: Actor
    added: tuple[Repository, ...]
    removed: tuple[Repository, ...]


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing follows from this delivery."""

    reason: str


Event = (
    PullRequestEvent
    | IssueEvent
    | CommentEvent
    | ReviewEvent
    | CheckEvent
    | PushEvent
    | InstallationEvent
    | InstallationRepositoriesEvent
)
