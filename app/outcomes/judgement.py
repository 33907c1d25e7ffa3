"""Records of a judged pull request: its submissions, verdicts and outcomes (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from app.outcomes import OutcomeKind
from app.values.identifiers import CommitSha, EvaluationId, IssueRef, PullNumber
from model.calibration.calibration import Evidence
from model.domain import EngineInfo, Issue, Verdict


@dataclass(frozen=True, slots=True)
class Judge:
    """The combination of verifier, engine, model and prompt that gave a verdict.

    Each calibrator belongs to one judge.
    """

    verifier: str
    """Name of the verifier in the catalogue."""
    engine: EngineInfo


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict of a judge on a patch, with the shares of votes and other numbers behind it."""

    judge: Judge
    evaluation: EvaluationId
    judged_at: datetime
    patch: str | None
    """SHA-256 of the judged patch, as in `Submission.patch`."""
    verdict: Verdict
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class PullOutcome:
    """One derived outcome of a pull request, such as a merge, a revert or surviving lines."""

    kind: OutcomeKind
    reason: str | None
    permission: str | None
    """The actor's permission at that time; None: unknown."""
    evaluation: EvaluationId | None
    """The verdict that people could read then."""
    occurred_at: datetime
    value: float | None = None
    """Share of lines that still exist for survival, a number of people for reactions."""
    head: CommitSha | None = None
    """The pull request's commit that the outcome is about."""
    actor: str | None = None
    """A login or the name of a CI; None: no actor."""
    actor_id: int | None = None
    """GitHub's id of the actor, which a rename keeps; None: no person, or not known."""
    by_author: bool = False
    """The pull request's author is the actor."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A pull request at one head, as the bot collected it."""

    head: CommitSha
    patch: str | None
    """SHA-256 of the diff that first made this edit; None: the bot could not read it.

    An update of the branch changes line numbers and blobs' names, but the patch stays the same."""
    submitted_at: datetime
    """Time of the collection."""
    by_author: bool = True
    """False: another person pushed this head."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """Verdicts of a shadow model on pull requests. The bot recorded them and never published them."""

    made_at: datetime
    """Time when the model was registered. The model may have learnt from everything before."""
    verdicts: Mapping[EvaluationId, Mapping[PullNumber, Verdict]]


PatchKey = tuple[int, int, str]
"""Our id of the issue, the number of the pull request, and the SHA-256 as in `Submission`."""


@dataclass(frozen=True, slots=True)
class LabelCheck:
    """A person's answer, after reading a patch, whether the patch is correct."""

    is_correct: bool
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class PullRecord:
    """One pull request of one issue, with its submissions, verdicts and outcomes."""

    group: int
    """Id of the issue's group in the database."""
    issue: IssueRef
    pull: PullNumber
    submissions: tuple[Submission, ...] = ()
    """Oldest first. They include submissions that no judge saw."""
    judgements: tuple[Judgement, ...] = ()
    """Oldest first."""
    outcomes: tuple[PullOutcome, ...] = ()
    """Oldest first."""

    def limit_to(self, moment: datetime) -> "PullRecord":
        """Return the record as it was at `moment`, without later submissions, verdicts and outcomes."""
        return replace(
            self,
            submissions=tuple(s for s in self.submissions if s.submitted_at <= moment),
            judgements=tuple(j for j in self.judgements if j.judged_at <= moment),
            outcomes=tuple(o for o in self.outcomes if o.occurred_at <= moment),
        )


@dataclass(frozen=True, slots=True)
class FrozenIssue:
    """An issue's text at the first collection of its rivals. Later edits do not change training rows."""

    text: Issue
    read_at: datetime
