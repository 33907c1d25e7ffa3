"""Raw outcome events, derived outcomes, and the input of the derivation (pure)."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from app.values.identifiers import CommitSha, EvaluationId, IssueNumber, PullNumber

CAN_WRITE = frozenset({"admin", "maintain", "write"})
"""Permissions of people who decide what is merged."""

APP = "app"
"""Stands in place of a permission when an App acted."""


class EventKind(StrEnum):
    """Kinds of raw outcome events. They record what happened, not its meaning."""

    PULL_OPENED = "pull_opened"
    PULL_CLOSED = "pull_closed"
    PULL_MERGED = "pull_merged"
    PULL_REOPENED = "pull_reopened"
    PULL_LOCKED = "pull_locked"
    HEAD_MOVED = "head_moved"
    REVIEW_SUBMITTED = "review_submitted"
    REVIEW_DISMISSED = "review_dismissed"
    CI_CONCLUDED = "ci_concluded"
    AGREED = "agreed"
    DISAGREED = "disagreed"
    ALTERNATIVE_AGREED = "alternative_agreed"
    """About an alternative, which `about` names. It means nothing for a pull request."""
    ALTERNATIVE_DISAGREED = "alternative_disagreed"
    REACTION = "reaction"
    ISSUE_CLOSED = "issue_closed"
    ISSUE_REOPENED = "issue_reopened"
    REVERTED = "reverted"
    LANDED = "landed"
    """A commit on the default branch names the pull request that it contains."""
    CLAIM_CHECKED = "claim_checked"
    """Git compared a commit with the pull request that it claims to revert or contain. `about` is the claim's kind."""
    SURVIVAL = "survival"


class OutcomeKind(StrEnum):
    """Kinds of derived outcomes of a pull request."""

    MERGED = "merged"
    MERGED_AFTER_CHANGES = "merged_after_changes"
    CLOSED = "closed"
    REOPENED = "reopened"
    REVERTED = "reverted"
    NEW_COMMITS = "new_commits_after_verdict"
    REVIEWED = "reviewed"
    CI = "ci"
    AGREE = "agree"
    DISAGREE = "disagree"
    REACTION = "reaction"
    SURVIVAL = "survival"


@dataclass(frozen=True, slots=True)
class Details:
    """Further values of a raw outcome event; None where they do not apply."""

    by_author: bool = False
    """True if the actor is the pull request's author."""
    state: str | None = None
    """GitHub's word: state of a review, conclusion of a CI, reason of a closed issue or of a lock, `+1` or `-1`. For an opinion
    given by command: the reason in the command."""
    about: str | None = None
    """Names the review, CI, reaction or alternative. Of several events about the same thing, the last counts."""
    base: CommitSha | None = None
    commit: str | None = None
    """The merge commit. For a revert: the commit that it names, perhaps abbreviated."""
    reverter: str | None = field(default=None, metadata={"key": "by"})
    """For a revert: what reverts, a pull request such as `#15` or a commit's hash without a `#`."""
    share: float | None = None
    """Share of lines that still exist, 0 to 1."""
    days: int | None = None
    age_seconds: float | None = None
    """For a closing: seconds since the pull request was opened."""
    gone: bool = False
    """True if the person removed the reaction."""


@dataclass(frozen=True, slots=True)
class OutcomeEvent:
    """One raw outcome event in a repository: what happened, when and by whom."""

    kind: EventKind
    source: str
    """Where the event comes from. The store keeps the same fact from the same source once."""
    occurred_at: datetime
    pull: PullNumber | None = None
    """None: the event names only an issue or a commit."""
    issue: IssueNumber | None = None
    actor: str | None = None
    """Who acted. None: a measurement, or only git reports the event."""
    actor_id: int | None = None
    permission: str | None = None
    """The actor's permission at that time in GitHub's word, or `APP`; None: unknown."""
    head: CommitSha | None = None
    """The commit that the event names. Opinions on a verdict name none and have `evaluation` instead."""
    evaluation: EvaluationId | None = None
    """The verdict that people could read on GitHub then. Its candidates are the judged heads. The store fills it in."""
    details: Details = Details()

    @property
    def moment(self) -> tuple[datetime, str]:
        """The event's sort key: its time, then its source. So the order of arrival does not matter."""
        return self.occurred_at, self.source


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A pull request as the bot collected it: one head commit on one base commit."""

    head: CommitSha
    base: CommitSha
    edit: str | None
    """Fingerprint of the edit, independent of its position (`model.patches.diff.fingerprint`); None: unreadable."""
    judged_at: datetime | None
    """Time of the verdict; None: never judged."""
    evaluation: EvaluationId | None = None
    """The evaluation that holds this snapshot; None: none."""
    public_at: datetime | None = None
    """Time when its verdict became readable on GitHub; None: never."""


@dataclass(frozen=True, slots=True)
class History:
    """Events and snapshots from which the outcomes of one pull request are derived, in any order."""

    pull: PullNumber
    events: tuple[OutcomeEvent, ...]
    """Its own events, those of its issues and verdicts, and those that name only its commits."""
    snapshots: tuple[Snapshot, ...] = ()
    rival_merges: tuple[OutcomeEvent, ...] = ()
    """Merges of the other pull requests of the same issues."""
    next_openings: tuple[OutcomeEvent, ...] = ()
    """Openings of other pull requests by the people who closed this one."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One derived outcome of a pull request, with the raw event behind it."""

    kind: OutcomeKind
    event: OutcomeEvent
    reason: str | None = None
    """More about the outcome, such as `superseded` for a closing or `approved` for a review; None: nothing is known."""
    value: float | None = None
    """Share of lines that still exist for survival, a number of people for reactions."""
    head: CommitSha | None = None
    """The pull request's head that was merged, judged, reviewed or pushed."""
    evaluation: EvaluationId | None = None
    """The verdict that people could read then. It may have caused this outcome."""
