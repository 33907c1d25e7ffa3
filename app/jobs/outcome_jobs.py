"""Jobs about outcomes that webhooks do not report in full (pure)."""

from dataclasses import dataclass

from app.jobs.job import Job, Queue
from app.values.identifiers import DeliveryGuid, IssueNumber, PullNumber, RepositoryId


@dataclass(frozen=True, slots=True)
class ResolvePermission(Job):
    """Ask GitHub soon after an outcome for the repository permission of `actor`, the person who caused it."""

    queue = Queue.GITHUB
    kind = "resolve_permission"

    repository: RepositoryId
    actor: str
    """The person's login."""


@dataclass(frozen=True, slots=True)
class PollReactions(Job):
    """Read the thumbs on an issue's verdict comment, because GitHub sends no webhook for reactions."""

    queue = Queue.GITHUB
    kind = "poll_reactions"

    repository: RepositoryId
    issue: IssueNumber


@dataclass(frozen=True, slots=True)
class MeasureSurvival(Job):
    """Measure with git, `days` after a merge, the share of the patch's lines still on the default branch."""

    queue = Queue.GITHUB
    kind = "measure_survival"

    repository: RepositoryId
    pull: PullNumber
    days: int
    """Days after the merge."""


@dataclass(frozen=True, slots=True)
class CheckClaims(Job):
    """Compare commits that claim to revert or contain the pull request `pull` with its patch, by git."""

    queue = Queue.GITHUB
    kind = "check_claims"

    repository: RepositoryId
    pull: PullNumber
    skipped: int = 0
    """Number of the newest unchecked claims that an earlier job could not read."""


@dataclass(frozen=True, slots=True)
class RecordOpinion(Job):
    """Record what a person said about a verdict on a page, as `/r4p agree` and `/r4p disagree` do."""

    queue = Queue.GITHUB
    kind = "record_opinion"

    repository: RepositoryId
    issue: IssueNumber
    name: str
    """A random name, so that no form is recorded twice."""
    about: str
    """The patch, such as `#12` or `A1`; empty: the whole verdict."""
    is_right: bool
    reason: str
    """Untrusted text in one line."""
    person: int
    """GitHub's id of the person."""
    login: str
    moment: str
    """When the person sent the form, in ISO 8601."""

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, slots=True)
class HearReview(Job):
    """Use a maintainer's review of an alternative's draft as guidance for a second attempt."""

    queue = Queue.GITHUB
    kind = "hear_review"

    repository: RepositoryId
    delivery: DeliveryGuid
    """The webhook delivery of the review."""
