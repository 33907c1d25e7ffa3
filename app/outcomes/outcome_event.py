"""Raw outcome events, what is derived from them, and what derivation may look at (pure)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.values.identifiers import CommitSha, EvaluationId, IssueNumber, PullNumber

CAN_WRITE = frozenset({"admin", "maintain", "write"})
"""Permissions whose owner decides what is merged."""

APP = "app"
"""Stands where a permission would: an App acted, and no collaborator's permission applies to it."""


class EventKind(StrEnum):
    """Raw events: what happened, without saying what it means."""

    PULL_CLOSED = "pull_closed"
    PULL_MERGED = "pull_merged"
    PULL_REOPENED = "pull_reopened"
    HEAD_MOVED = "head_moved"
    REVIEW_SUBMITTED = "review_submitted"
    REVIEW_DISMISSED = "review_dismissed"
    CI_CONCLUDED = "ci_concluded"
    AGREED = "agreed"
    DISAGREED = "disagreed"
    ALTERNATIVE_AGREED = "alternative_agreed"
    """About a patch of our own, which `about` names: it says nothing of any pull request."""
    ALTERNATIVE_DISAGREED = "alternative_disagreed"
    REACTION = "reaction"
    ISSUE_CLOSED = "issue_closed"
    ISSUE_REOPENED = "issue_reopened"
    REVERTED = "reverted"
    LANDED = "landed"
    """A commit on the default branch says that it carries a pull request."""
    SURVIVAL = "survival"


class OutcomeKind(StrEnum):
    """Derived: what became of a pull request."""

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
    """What a kind of event knows beyond who, where and when; None where it doesn't apply."""

    by_author: bool = False
    """The actor is the pull request's author."""
    state: str | None = None
    """GitHub's word: a review's state, a CI conclusion, why an issue was closed, `+1` or `-1`.
    For an opinion given by command, the words that came with it."""
    about: str | None = None
    """Which review, CI, reaction or alternative; of several events about one, the last one holds."""
    base: CommitSha | None = None
    commit: str | None = None
    """The merge commit; of a revert the commit it names, which may be abbreviated."""
    by: str | None = None
    """What reverted: `#15` or a commit."""
    share: float | None = None
    """Lines still there, 0 to 1."""
    days: int | None = None
    gone: bool = False
    """The reaction was taken back."""


@dataclass(frozen=True, slots=True)
class OutcomeEvent:
    """One thing that happened in a repository, as it came."""

    kind: EventKind
    source: str
    """What it was read from; the same fact from the same source is stored once."""
    occurred_at: datetime
    pull: PullNumber | None = None
    """None when the event names only an issue, or only a commit."""
    issue: IssueNumber | None = None
    actor: str | None = None
    """None: nobody acted (a measurement), or git alone tells of it."""
    actor_id: int | None = None
    permission: str | None = None
    """The actor's at that time in GitHub's word, or `APP`; None: not known."""
    head: CommitSha | None = None
    """The commit it names. What is said of a verdict names none: see `evaluation`."""
    evaluation: EvaluationId | None = None
    """The verdict that could be read on GitHub then, on the pull request or on the issue; its
    candidates are the heads that were judged. Filled in by the store."""
    details: Details = Details()

    @property
    def moment(self) -> tuple[datetime, str]:
        """The order of events: by time, ties by source, never by when they reached us."""
        return self.occurred_at, self.source


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A pull request at one head on one base, as it was collected."""

    head: CommitSha
    base: CommitSha
    edit: str | None
    """What its diff does, the same wherever it stands (`model.patches.diff.fingerprint`); None: could not be read."""
    judged_at: datetime | None
    """None: never judged."""
    evaluation: EvaluationId | None = None
    """In which it was submitted; None: in none."""
    public_at: datetime | None = None
    """Since when that verdict can be read on GitHub; None: never."""


@dataclass(frozen=True, slots=True)
class History:
    """All that one pull request's outcomes are derived from, in any order."""

    pull: PullNumber
    events: tuple[OutcomeEvent, ...]
    """Its own, those of its issues and verdicts, and those that name only its commits."""
    snapshots: tuple[Snapshot, ...] = ()
    rival_merges: tuple[OutcomeEvent, ...] = ()
    """Merges of the other pull requests for the same issues."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One derived row; `event` is the raw event that stands for it."""

    kind: OutcomeKind
    event: OutcomeEvent
    reason: str | None = None
    """What is known of why."""
    value: float | None = None
    """A share for survival, a number of people for reactions."""
    head: CommitSha | None = None
    """The pull request's own head that this is about: merged, judged, reviewed, pushed."""
    evaluation: EvaluationId | None = None
    """The verdict on the pull request that could be read then: it may have led to this."""
