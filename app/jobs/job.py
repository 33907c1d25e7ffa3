"""Jobs: the contract between app, which decides, and worker, which acts (pure).

A job names what to read again, never what changed. Webhooks come late, twice or out of order, so the worker reads
GitHub's present state. Payloads hold ids and short cleaned text only.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import ClassVar

from app.values.identifiers import (
    CommandSource,
    DeliveryGuid,
    EvaluationId,
    InstallationId,
    IssueNumber,
    PullNumber,
    RepositoryId,
)

OF_THE_APP = InstallationId(0)
"""Installation id of work for the whole App. GitHub's installation ids begin at 1."""
DEBOUNCES = 6
"""Number of delays after which a job runs even if events keep asking for it."""
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
KINDS: dict[str, type["Job"]] = {}
"""Every kind of job by its name."""


class Queue(StrEnum):
    """Names of the Celery queues. Each queue may have its own processes, with only the secrets of its work."""

    EVENTS = "events"
    """Database only: turns deliveries into rows and further jobs."""
    GITHUB = "github"
    """Holds the App's key: reads GitHub, fetches git objects, publishes."""
    VERIFY = "verify"
    """Holds no secret: reads patches and asks the engine."""
    AGENTS = "agents"
    """Holds no secret of GitHub: runs agents on a source tree and asks the engine."""
    WRITER = "writer"
    """Holds the writer App's key and runs no model: opens draft pull requests and setup pull requests."""
    TRAIN = "train"
    TESTS = "tests"
    """Holds no secret: runs the repositories' own tests in sandboxes, on source trees that `github` handed over."""


@dataclass(frozen=True, slots=True)
class Job:
    """Base class of jobs, the tasks in the queue of record. A purge finds the jobs of its `installation`, an id."""

    queue: ClassVar[Queue]
    kind: ClassVar[str]

    installation: InstallationId

    def __init_subclass__(cls) -> None:
        """Register a job class that has its own `kind` in `KINDS`."""
        if "kind" in vars(cls):
            KINDS[cls.kind] = cls

    @property
    def key(self) -> str:
        """Name of the job's work, such as `reconcile:7`. Two jobs with equal keys never run at the same time."""
        values = self.to_payload().items()
        return ":".join([self.kind, *(str(v) for name, v in values if name != "installation")])

    @property
    def tenant(self) -> InstallationId:
        """The installation whose turn the job takes in its queue, and whose pause and limits it heeds."""
        return self.installation

    def to_payload(self) -> dict[str, Json]:
        """Return the job's fields by name, as the queue of record stores them."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Planned:
    """A job to store, with its delay and the request that it answers."""

    job: Job
    delay_seconds: float = 0.0
    """0: run at once. Otherwise a ready job of the same key waits this long again, up to `DEBOUNCES` times."""
    wish: str = ""
    """The request that the job answers, such as `command:<comment id>`; empty: none.

    Jobs of different requests stay apart, so that each request gets a reply.
    """


@dataclass(frozen=True, slots=True)
class RecordEvent(Job):
    """Turn a stored webhook delivery into outcome events and follow-up jobs."""

    queue = Queue.EVENTS
    kind = "record_event"

    delivery: DeliveryGuid


@dataclass(frozen=True, slots=True)
class LocateIssues(Job):
    """Ask GitHub which issues a pull request closes, because the pull request's text names no issue."""

    queue = Queue.GITHUB
    kind = "locate_issues"

    repository: RepositoryId
    pull: PullNumber


@dataclass(frozen=True, slots=True)
class EvaluateIssue(Job):
    """Collect the rival pull requests of an issue, and plan their judging if the policy allows it."""

    queue = Queue.GITHUB
    kind = "evaluate_issue"

    repository: RepositoryId
    issue: IssueNumber
    trigger: str
    """`pull_request`, `issue`, `command`, `approval`, `moved_head` or `reconcile`."""
    asked_in: CommandSource | None = None
    """The comment or review that asked for it, or None. The bot replies there if it can judge nothing."""
    asked_under: int | None = None
    """The issue or pull request that holds the comment; None: the issue itself."""
    propose: bool = False
    """A person asked for one more alternative with `/r4p propose`."""

    @property
    def key(self) -> str:
        return f"evaluate_issue:{self.repository}:{self.issue}"


@dataclass(frozen=True, slots=True)
class EvaluationJob(Job):
    """A job about one evaluation."""

    repository: RepositoryId
    issue: IssueNumber
    evaluation: EvaluationId

    @property
    def key(self) -> str:
        return self.build_key(self.evaluation)

    @classmethod
    def build_key(cls, evaluation: EvaluationId) -> str:
        return f"{cls.kind}:{evaluation}"


@dataclass(frozen=True, slots=True)
class ProposePatches(EvaluationJob):
    """Run agents that write alternatives for an evaluation, on the source tree that the bot prepared."""

    queue = Queue.AGENTS
    kind = "propose_patches"


@dataclass(frozen=True, slots=True)
class VerifyGroup(EvaluationJob):
    """Let the verifier judge the frozen group of the evaluation with the id `evaluation`."""

    queue = Queue.VERIFY
    kind = "verify_group"


@dataclass(frozen=True, slots=True)
class PublishVerdict(EvaluationJob):
    """Read the pull requests' head commits again, then update an issue's verdict comment and check runs."""

    queue = Queue.GITHUB
    kind = "publish_verdict"

    @property
    def key(self) -> str:
        return f"publish_verdict:{self.repository}:{self.issue}"


@dataclass(frozen=True, slots=True)
class RunCommand(Job):
    """Acknowledge the `/r4p` commands of a comment or review, check the sender's permission, and carry them out."""

    queue = Queue.GITHUB
    kind = "run_command"

    repository: RepositoryId
    number: int
    """The issue or pull request that holds the comment."""
    asked_in: CommandSource
    """The comment or review that holds the commands."""
    delivery: DeliveryGuid

    @property
    def key(self) -> str:
        return self.build_key(self.asked_in)

    @classmethod
    def build_key(cls, asked_in: CommandSource) -> str:
        """Return the key of the job for the comment or review `asked_in`."""
        return f"{cls.kind}:{asked_in}"


@dataclass(frozen=True, slots=True)
class RefreshConfig(Job):
    """Read a repository's `.github/r4p.yml` from its default branch, and store its text and its errors."""

    queue = Queue.GITHUB
    kind = "refresh_config"

    repository: RepositoryId


@dataclass(frozen=True, slots=True)
class Reconcile(Job):
    """Look in a repository for changes and commands whose webhooks never arrived."""

    queue = Queue.GITHUB
    kind = "reconcile"

    repository: RepositoryId


@dataclass(frozen=True, slots=True)
class PurgeData(Job):
    """Delete the stored data of a repository, or of the whole installation if `repository` is None."""

    queue = Queue.GITHUB
    kind = "purge_data"

    repository: RepositoryId | None

    @property
    def tenant(self) -> InstallationId:
        return OF_THE_APP  # an installation that is paused must be forgotten too

    @property
    def key(self) -> str:
        return f"purge_data:{self.installation}:{self.repository or 'all'}"


@dataclass(frozen=True, slots=True)
class ForgetCheckout(Job):
    """Delete the git objects of a purged repository. Only workers of the queue `github` have them."""

    queue = Queue.GITHUB
    kind = "forget_checkout"

    repository: RepositoryId

    @property
    def tenant(self) -> InstallationId:
        return OF_THE_APP


@dataclass(frozen=True, slots=True)
class TidyCheckouts(Job):
    """Delete from one machine's disk the git objects of all repositories that the database does not hold."""

    queue = Queue.GITHUB
    kind = "tidy_checkouts"


@dataclass(frozen=True, slots=True)
class Redeliver(Job):
    """Ask GitHub to redeliver the webhooks that never arrived."""

    queue = Queue.GITHUB
    kind = "redeliver"


def parse_job(kind: str, payload: Mapping[str, Json]) -> Job:
    """Build a job from its kind and the payload that `to_payload` returned.

    Raises ValueError for an unknown kind, or for fields that are not those of the kind.
    """
    job = KINDS.get(kind)
    if job is None:
        raise ValueError(f"unknown job kind {kind!r}; the kinds are {', '.join(KINDS)}")
    if (expected := {field.name for field in fields(job)}) != payload.keys():
        raise ValueError(f"{kind}: the fields are {sorted(payload)}, expected {sorted(expected)}")
    return job(**payload)  # type: ignore[arg-type]  # names checked above, values are our own JSON
