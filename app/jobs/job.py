"""The jobs: the contract between app, which decides, and worker, which does (pure).

A job names what to look at again, never what changed: webhooks come late, doubled or out of order, and the worker reads
GitHub's present state. Payloads hold ids and short cleaned text only.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import ClassVar

from app.values.identifiers import (
    AskedIn,
    DeliveryGuid,
    EvaluationId,
    InstallationId,
    IssueNumber,
    PullNumber,
    RepositoryId,
)

OF_THE_APP = InstallationId(0)
"""In place of an installation, of which the first is 1: the work is for the App as a whole."""
DEBOUNCES = 6
"""A job that is wanted again and again still runs, this many delays after it was first wanted."""
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
KINDS: dict[str, type["Job"]] = {}
"""Every kind of job by its name."""


class Queue(StrEnum):
    """Celery queues; each may have its own processes, with only the secrets its work needs."""

    EVENTS = "events"
    """Database only: deliveries become rows and further jobs."""
    GITHUB = "github"
    """Holds the App key: reads GitHub, fetches git objects, publishes."""
    VERIFY = "verify"
    """Holds no secret: reads patches, talks to the engine."""
    AGENTS = "agents"
    """Holds no secret of GitHub's: has agents read a tree that was handed over, talks to the engine."""
    WRITER = "writer"
    """Holds the second App's key and runs no model: opens draft pull requests."""
    TRAIN = "train"


@dataclass(frozen=True, slots=True)
class Job:
    """What every job knows: whose data it touches, so that a purge can find it."""

    queue: ClassVar[Queue]
    kind: ClassVar[str]

    installation: InstallationId

    def __init_subclass__(cls) -> None:
        """A kind of job is known by being there."""
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    @property
    def key(self) -> str:
        """Jobs of one key are one piece of work: one ready, one running at most."""
        named = self.payload().items()
        return ":".join([self.kind, *(str(v) for name, v in named if name != "installation")])

    def payload(self) -> dict[str, Json]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Planned:
    """A job to store, and when it may run."""

    job: Job
    delay_seconds: float = 0.0
    """0: at once. Else a ready job of the same key that is not yet due waits so long again, up to `DEBOUNCES` times."""
    wish: str = ""
    """Whose wish it is, if a person's: it waits beside its like, so that all who ask are answered."""


@dataclass(frozen=True, slots=True)
class RecordEvent(Job):
    """Turn one stored delivery into outcome events and into the jobs that follow from it."""

    queue = Queue.EVENTS
    kind = "record_event"

    delivery: DeliveryGuid


@dataclass(frozen=True, slots=True)
class LocateIssues(Job):
    """Ask GitHub which issues a pull request closes, when its text does not say."""

    queue = Queue.GITHUB
    kind = "locate_issues"

    repository: RepositoryId
    pull: PullNumber


@dataclass(frozen=True, slots=True)
class EvaluateIssue(Job):
    """Collect the rival pull requests of an issue and, if the policy says so, have them judged."""

    queue = Queue.GITHUB
    kind = "evaluate_issue"

    repository: RepositoryId
    issue: IssueNumber
    trigger: str
    """`pull_request`, `issue`, `command`, `moved_head` or `reconcile`."""
    asked_in: AskedIn | None = None
    """The comment or review that asked for it, to be answered if nothing can be judged."""
    asked_under: int | None = None
    """Under which issue or pull request it was written; None: the issue itself."""
    propose: bool = False
    """One more alternative is asked for, whatever the repository's settings say."""

    @property
    def key(self) -> str:
        return f"evaluate_issue:{self.repository}:{self.issue}"


@dataclass(frozen=True, slots=True)
class _OfEvaluation(Job):
    """Work on one evaluation."""

    repository: RepositoryId
    issue: IssueNumber
    evaluation: EvaluationId

    @property
    def key(self) -> str:
        return self.key_of(self.evaluation)

    @classmethod
    def key_of(cls, evaluation: EvaluationId) -> str:
        return f"{cls.kind}:{evaluation}"


@dataclass(frozen=True, slots=True)
class ProposePatches(_OfEvaluation):
    """Have an agent write rivals, on the tree that was handed over for it."""

    queue = Queue.AGENTS
    kind = "propose_patches"


@dataclass(frozen=True, slots=True)
class VerifyGroup(_OfEvaluation):
    """Have the verifier judge one evaluation's snapshot of candidates."""

    queue = Queue.VERIFY
    kind = "verify_group"


@dataclass(frozen=True, slots=True)
class PublishVerdict(_OfEvaluation):
    """Re-read every head, then bring the canonical comment and the check runs up to date."""

    queue = Queue.GITHUB
    kind = "publish_verdict"

    @property
    def key(self) -> str:
        return f"publish_verdict:{self.repository}:{self.issue}"


@dataclass(frozen=True, slots=True)
class RunCommand(Job):
    """Acknowledge the `/r4p` commands of a comment or review, check the sender's right, and obey."""

    queue = Queue.GITHUB
    kind = "run_command"

    repository: RepositoryId
    number: int
    """The issue or pull request commented on."""
    asked_in: AskedIn
    delivery: DeliveryGuid

    @property
    def key(self) -> str:
        return f"run_command:{self.asked_in}"


@dataclass(frozen=True, slots=True)
class RefreshConfig(Job):
    """Read `.github/r4p.yml` from the default branch."""

    queue = Queue.GITHUB
    kind = "refresh_config"

    repository: RepositoryId


@dataclass(frozen=True, slots=True)
class Reconcile(Job):
    """Look for open pull requests whose webhooks were missed."""

    queue = Queue.GITHUB
    kind = "reconcile"

    repository: RepositoryId


@dataclass(frozen=True, slots=True)
class PurgeData(Job):
    """Delete what is stored of one repository of an installation, or of all that it has (None)."""

    queue = Queue.GITHUB
    kind = "purge_data"

    repository: RepositoryId | None

    @property
    def key(self) -> str:
        return f"purge_data:{self.installation}:{self.repository or 'all'}"


@dataclass(frozen=True, slots=True)
class ForgetCheckout(Job):
    """Delete what git fetched of a forgotten repository; only this queue's worker has it."""

    queue = Queue.GITHUB
    kind = "forget_checkout"

    repository: RepositoryId


@dataclass(frozen=True, slots=True)
class TidyCheckouts(Job):
    """Delete what git fetched of repositories that are not known any more, on one machine."""

    queue = Queue.GITHUB
    kind = "tidy_checkouts"


@dataclass(frozen=True, slots=True)
class Redeliver(Job):
    """Have GitHub send the webhooks again that never arrived."""

    queue = Queue.GITHUB
    kind = "redeliver"


def from_payload(kind: str, payload: Mapping[str, Json]) -> Job:
    """The job that `payload()` wrote. Raises ValueError for an unknown kind or other fields."""
    job = KINDS.get(kind)
    if job is None:
        raise ValueError(f"unknown job kind {kind!r}: known are {', '.join(KINDS)}")
    if (expected := {field.name for field in fields(job)}) != payload.keys():
        raise ValueError(f"{kind}: fields {sorted(payload)} are not {sorted(expected)}")
    return job(**payload)  # type: ignore[arg-type]  # names checked above, values are our own JSON
