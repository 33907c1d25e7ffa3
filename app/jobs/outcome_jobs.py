"""The jobs about what people did after a verdict, of which webhooks tell only half (pure)."""

from dataclasses import dataclass

from app.jobs.job import Job, Queue
from app.values.identifiers import DeliveryGuid, IssueNumber, PullNumber, RepositoryId


@dataclass(frozen=True, slots=True)
class ResolvePermission(Job):
    """Fill in which permission an outcome's actor had, as soon after the event as possible."""

    queue = Queue.GITHUB
    kind = "resolve_permission"

    repository: RepositoryId
    actor: str


@dataclass(frozen=True, slots=True)
class PollReactions(Job):
    """Read the thumbs on the canonical comment: GitHub sends no webhook for reactions."""

    queue = Queue.GITHUB
    kind = "poll_reactions"

    repository: RepositoryId
    issue: IssueNumber


@dataclass(frozen=True, slots=True)
class MeasureSurvival(Job):
    """Measure from git which share of a merged patch's lines is still on the default branch."""

    queue = Queue.GITHUB
    kind = "measure_survival"

    repository: RepositoryId
    pull: PullNumber
    days: int


@dataclass(frozen=True, slots=True)
class HearReview(Job):
    """Take what a maintainer's review says against a patch of ours as the hint of a second attempt."""

    queue = Queue.GITHUB
    kind = "hear_review"

    repository: RepositoryId
    delivery: DeliveryGuid
