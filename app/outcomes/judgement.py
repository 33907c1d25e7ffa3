"""What is recorded of a judged pull request: what was known, what was said, what became of it (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from app.outcomes import OutcomeKind
from app.values.identifiers import CommitSha, EvaluationId, IssueRef, PullNumber
from model.calibration.calibration import Evidence
from model.domain import EngineInfo, Issue, Verdict


@dataclass(frozen=True, slots=True)
class Judge:
    """Who spoke. A calibrator knows one judge, and no other."""

    verifier: str
    """Its name in the catalogue."""
    engine: EngineInfo


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge said of a patch, and on what evidence."""

    judge: Judge
    evaluation: EvaluationId
    judged_at: datetime
    patch: str | None
    """As in `Submission`."""
    verdict: Verdict
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Fate:
    """One derived outcome."""

    kind: OutcomeKind
    reason: str | None
    permission: str | None
    """The actor's when it happened; None: not known."""
    evaluation: EvaluationId | None
    """The verdict that could be read then."""
    occurred_at: datetime
    value: float | None = None
    """A share for survival, a number of people for reactions."""
    head: CommitSha | None = None
    """The pull request's own commit that this is about."""
    actor: str | None = None
    """A login, or which CI it was; None: nobody acted."""
    by_author: bool = False
    """The actor wrote the pull request."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A pull request as it was submitted to a judge at one head."""

    head: CommitSha
    patch: str | None
    """SHA-256 of the diff in which the pull request first made this edit; None: it could not be read.

    Where a branch is brought up to date, line numbers and blobs' names change, and the patch is the same.
    """
    submitted_at: datetime
    """When it was collected."""
    by_author: bool = True
    """False: somebody else pushed this head."""


@dataclass(frozen=True, slots=True)
class Shadow:
    """What a trained model said while nobody was shown it."""

    made_at: datetime
    """When it was registered: what was known by then it may have learnt from."""
    said: Mapping[EvaluationId, Mapping[PullNumber, Verdict]]


PatchKey = tuple[int, int, str]
"""Our number of the issue, the pull request's, and SHA-256 of the diff as in `Submission`."""


@dataclass(frozen=True, slots=True)
class LabelCheck:
    """The truth about a patch, found by somebody who looked."""

    is_correct: bool
    checked_at: datetime


@dataclass(frozen=True, slots=True)
class PullRecord:
    """One pull request among the rivals of one issue."""

    group: int
    """The issue, by our number."""
    issue: IssueRef
    pull: PullNumber
    submissions: tuple[Submission, ...] = ()
    """Oldest first; what nobody has judged is among them."""
    judgements: tuple[Judgement, ...] = ()
    """Oldest first."""
    fates: tuple[Fate, ...] = ()
    """Oldest first."""

    def by(self, moment: datetime) -> "PullRecord":
        """As it was known by then: what was submitted, said or done later is left out."""
        return replace(
            self,
            submissions=tuple(one for one in self.submissions if one.submitted_at <= moment),
            judgements=tuple(one for one in self.judgements if one.judged_at <= moment),
            fates=tuple(one for one in self.fates if one.occurred_at <= moment),
        )


@dataclass(frozen=True, slots=True)
class FrozenIssue:
    """An issue as it was when its first rivals were collected; who edits it later edits no lesson."""

    text: Issue
    read_at: datetime
