"""Webhook events as frozen values (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.values.identifiers import (
    CommandSource,
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
    """A GitHub account in a webhook payload. The payload proves no permission; GitHub's API does."""

    id: int
    login: str
    is_bot: bool


GHOST = Actor(10137, "ghost", is_bot=False)
"""GitHub's placeholder for a deleted account."""


@dataclass(frozen=True, slots=True)
class RepositoryEvent:
    """Fields that all webhook events about a repository share."""

    delivery: DeliveryGuid
    repository: RepositoryRef
    sender: Actor

    @property
    def installation(self) -> InstallationId:
        return self.repository.installation


class PullAction(StrEnum):
    """Webhook actions on a pull request that the bot handles."""

    OPENED = "opened"
    EDITED = "edited"
    SYNCHRONIZE = "synchronize"
    READY_FOR_REVIEW = "ready_for_review"
    CONVERTED_TO_DRAFT = "converted_to_draft"
    REOPENED = "reopened"
    CLOSED = "closed"
    LOCKED = "locked"


@dataclass(frozen=True, slots=True)
class BaseChange:
    """The base of a pull request before somebody changed it: a branch and a commit."""

    ref: str
    sha: CommitSha | None


@dataclass(frozen=True, slots=True)
class PullRequestEvent(RepositoryEvent):
    """Webhook event: somebody changed a pull request. Its values date from the delivery, which may be late."""

    action: PullAction
    number: PullNumber
    title: str
    body: str
    author: Actor
    draft: bool
    merged: bool
    merge_commit: CommitSha | None
    """While the pull request is open, this is GitHub's test merge and not a commit of the default branch."""
    head: CommitSha
    base: CommitSha
    base_ref: str
    default_branch: str
    before: CommitSha | None
    """The head before a push; None for every other action."""
    base_before: BaseChange | None
    occurred_at: datetime | None
    opened_at: datetime | None = None
    lock_reason: str | None = None
    """Why the conversation is locked, such as `spam`; None: it is not, or nobody gave a reason."""


class IssueAction(StrEnum):
    """Webhook actions on an issue that the bot handles."""

    OPENED = "opened"
    EDITED = "edited"
    CLOSED = "closed"
    REOPENED = "reopened"
    DELETED = "deleted"
    TRANSFERRED = "transferred"


@dataclass(frozen=True, slots=True)
class IssueEvent(RepositoryEvent):
    """Webhook event: somebody changed an issue."""

    action: IssueAction
    number: IssueNumber
    title: str
    body: str
    author: Actor
    state_reason: str | None
    """`completed`, `not_planned`, `duplicate`, `reopened` or None."""
    occurred_at: datetime | None


@dataclass(frozen=True, slots=True)
class CommentEvent(RepositoryEvent):
    """Webhook event: a person wrote a comment on an issue or a pull request."""

    number: int
    on_pull_request: bool
    comment: CommentId
    body: str
    author: Actor
    association: str
    """GitHub's role of the author, for display only. It hides private members and proves no right."""
    occurred_at: datetime | None
    is_locked: bool = False
    """Whether only members could write in the conversation when GitHub sent the event."""

    @property
    def command_source(self) -> CommandSource:
        return CommandSource(str(self.comment))


class ReviewAction(StrEnum):
    """Webhook actions on a review that the bot handles."""

    SUBMITTED = "submitted"
    DISMISSED = "dismissed"


@dataclass(frozen=True, slots=True)
class ReviewEvent(RepositoryEvent):
    """Webhook event: a review of a pull request was submitted or dismissed."""

    action: ReviewAction
    number: PullNumber
    review: int
    state: str
    """`approved`, `changes_requested`, `commented` or `dismissed`."""
    body: str
    author: Actor
    commit: CommitSha | None
    """GitHub changes this commit after a force-push, so it does not prove which commit the reviewer read."""
    occurred_at: datetime | None
    is_locked: bool = False
    """Whether only members could write in the conversation when GitHub sent the event."""

    @property
    def command_source(self) -> CommandSource:
        return CommandSource(f"review-{self.review}")

    @property
    def on_pull_request(self) -> bool:
        return True

    @property
    def can_command(self) -> bool:
        """Whether the bot obeys commands in the review. A dismissal repeats the old text, and bots never command."""
        return self.action is ReviewAction.SUBMITTED and not self.sender.is_bot


class CheckAction(StrEnum):
    """Webhook actions on a check run or check suite that the bot handles."""

    COMPLETED = "completed"
    REREQUESTED = "rerequested"
    REQUESTED_ACTION = "requested_action"


@dataclass(frozen=True, slots=True)
class CheckEvent(RepositoryEvent):
    """Webhook event: a check finished, should run again, or had its button pressed."""

    action: CheckAction
    is_suite: bool
    """True: the event is about all checks of one App on a commit. False: about one check run."""
    id: int
    name: str
    """Empty for a suite."""
    head: CommitSha
    conclusion: str | None
    app_id: int
    app_slug: str
    is_ours: bool
    """True: our own App made the check, as far as its id is known."""
    pulls: tuple[PullNumber, ...]
    """Pull requests that GitHub names. Often empty for those from forks."""
    external_id: str
    """The id that our bot gave its check run. Empty for suites and for check runs of other Apps."""
    button: str | None
    """Identifier of the pressed button for `requested_action`, else None."""
    occurred_at: datetime | None
    output: str = ""
    """Title, summary and text of a check run. Untrusted, and often empty."""


@dataclass(frozen=True, slots=True)
class PushedCommit:
    """One commit of a push, with a shortened message."""

    sha: CommitSha
    message: str


@dataclass(frozen=True, slots=True)
class PushEvent(RepositoryEvent):
    """Webhook event: somebody pushed to the default branch."""

    before: CommitSha
    after: CommitSha
    forced: bool
    commits: tuple[PushedCommit, ...]
    config_touched: bool
    """True if the push changed the configuration file, or if GitHub does not list all changes."""


@dataclass(frozen=True, slots=True)
class InstalledRepository:
    """A repository in the list of an installation event."""

    id: RepositoryId
    full_name: str


class InstallationAction(StrEnum):
    """Webhook actions on an installation of the App that the bot handles."""

    CREATED = "created"
    DELETED = "deleted"
    SUSPEND = "suspend"
    UNSUSPEND = "unsuspend"
    NEW_PERMISSIONS_ACCEPTED = "new_permissions_accepted"


@dataclass(frozen=True, slots=True)
class InstallationEvent:
    """Webhook event: somebody installed, removed, suspended or resumed the App, or accepted new permissions."""

    delivery: DeliveryGuid
    installation: InstallationId
    account: str
    account_id: int
    """GitHub's id of the account, which survives a new name."""
    sender: Actor
    action: InstallationAction
    repositories: tuple[InstalledRepository, ...]
    suspended_at: datetime | None = None
    """When the owner suspended the App, by GitHub's clock; None: it is active, or GitHub did not say."""


@dataclass(frozen=True, slots=True)
class InstallationRepositoriesEvent:
    """Webhook event: repositories joined or left an installation of the App."""

    delivery: DeliveryGuid
    installation: InstallationId
    account: str
    account_id: int
    """GitHub's id of the account, which survives a new name."""
    sender: Actor
    added: tuple[InstalledRepository, ...]
    removed: tuple[InstalledRepository, ...]


@dataclass(frozen=True, slots=True)
class Ignored:
    """A webhook delivery that the bot ignores, with the reason."""

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
