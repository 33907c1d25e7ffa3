"""What became of a pull request, in a few words."""

from datetime import UTC, datetime, timedelta

from app.outcomes import OutcomeKind
from app.outcomes.judgement import Judge, Judgement, PullOutcome, PullRecord, Submission
from app.values.identifiers import IssueRef, RepositoryRef
from model.calibration.calibration import Evidence
from model.domain import EngineInfo, Verdict

JUDGE = Judge("r4p", EngineInfo("vLLM", "R4P-32B", "9f3c1a77aa52"))
DAY = timedelta(days=1)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
LATER = START + 200 * DAY
ISSUE = IssueRef(RepositoryRef(7, 70, "octo/cat"), 3)
KNOWN = Evidence(score=0.75, valid=4)


def build_judgement(number=1, *, judge=JUDGE, verdict=Verdict.CORRECT, patch="p", days=0.0):
    return Judgement(judge, number, START + days * DAY, patch, verdict, KNOWN)


def build_submission(patch="p", *, days=0.0, by_author=True):
    """The head is named after the patch."""
    return Submission(f"at {patch}", patch, START + days * DAY, by_author)


def build_outcome(kind, *, days=1.0, reason=None, **about):
    told = {"permission": "write", "evaluation": 1, "actor": "maintainer", "head": "at p"} | about
    return PullOutcome(kind, reason, occurred_at=START + days * DAY, **told)


def build_record(*fates, patches=("p",), judgements=None, pull=12, **about):
    known = tuple(one if isinstance(one, Submission) else build_submission(one) for one in patches)
    said = (build_judgement(patch=known[-1].patch),) if judgements is None else tuple(judgements)
    in_order = tuple(sorted(fates, key=lambda event: event.occurred_at))
    return PullRecord(1, about.get("issue", ISSUE), pull, known, said, in_order)


MERGED = build_outcome(OutcomeKind.MERGED)
REVERTED = build_outcome(OutcomeKind.REVERTED, days=40, reason="by #15")
CLOSED = build_outcome(OutcomeKind.CLOSED, reason="closed_by_maintainer")
AGREE, DISAGREE = build_outcome(OutcomeKind.AGREE), build_outcome(OutcomeKind.DISAGREE)
ASKED = build_outcome(OutcomeKind.REVIEWED, days=0.5, reason="changes_requested")
APPROVED = build_outcome(OutcomeKind.REVIEWED, days=0.6, reason="approved")
FAILED = build_outcome(
    OutcomeKind.CI, days=0.3, reason="failure", permission="app", actor="ci[bot]"
)


def build_survival(share, days=31, reason="after_30_days"):
    return build_outcome(
        OutcomeKind.SURVIVAL, days=days, reason=reason, value=share, permission=None
    )
