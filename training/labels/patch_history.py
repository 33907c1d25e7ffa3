"""Answer the questions that label rules ask about the history of one patch (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from app.outcomes import CAN_WRITE, OutcomeKind
from app.outcomes.judgement import PullOutcome, PullRecord
from model.domain import Verdict
from training.labels.rules import SURVIVAL_COUNTS

MERGES = (OutcomeKind.MERGED, OutcomeKind.MERGED_AFTER_CHANGES)
_SAYS_RIGHT = {
    (OutcomeKind.AGREE, Verdict.CORRECT): True,
    (OutcomeKind.DISAGREE, Verdict.INCORRECT): True,
    (OutcomeKind.AGREE, Verdict.INCORRECT): False,
    (OutcomeKind.DISAGREE, Verdict.CORRECT): False,
}


@dataclass(frozen=True, slots=True)
class PatchHistory:
    """A submitted patch with the history of its pull request and its rivals until `now`."""

    record: PullRecord
    patch: str
    """SHA-256 of the diff."""
    rivals: Sequence[PullRecord]
    now: datetime

    @property
    def heads(self) -> frozenset[str]:
        """Commits at which the pull request contained exactly this patch."""
        return frozenset(
            submission.head
            for submission in self.record.submissions
            if submission.patch == self.patch
        )

    @property
    def is_last(self) -> bool:
        """True if the pull request got no other patch after this one."""
        return self.record.submissions[-1].patch == self.patch

    @property
    def is_helped(self) -> bool:
        """True if somebody other than the author pushed a change that this patch contains. A rebase does not count."""
        submissions = self.record.submissions
        index = next(
            place for place, submission in enumerate(submissions) if submission.patch == self.patch
        )
        steps = pairwise(submissions[: index + 1])
        return any(not after.by_author and after.patch != before.patch for before, after in steps)

    @property
    def is_mended(self) -> bool:
        """True if a push by somebody other than the author replaced this patch."""
        submissions = self.record.submissions
        index = max(
            place for place, submission in enumerate(submissions) if submission.patch == self.patch
        )
        return index + 1 < len(submissions) and not submissions[index + 1].by_author

    @property
    def is_approved(self) -> bool:
        """True if a person with write permission approved this patch and did not withdraw the approval."""
        return any(review.reason == "approved" for review in self._find_reviews().values())

    def find_last(self, *kinds: OutcomeKind) -> PullOutcome | None:
        """Return the last outcome of the pull request whose kind is one of `kinds`, or None."""
        return next(
            (outcome for outcome in reversed(self.record.outcomes) if outcome.kind in kinds), None
        )

    def find_reopening(self, what: str, since: PullOutcome) -> PullOutcome | None:
        """Return the first reopening of `what`, "issue" or "pull_request", after the outcome `since`, or None."""
        return next(
            (
                outcome
                for outcome in self.record.outcomes
                if outcome.kind is OutcomeKind.REOPENED
                and outcome.reason == what
                and outcome.occurred_at >= since.occurred_at
            ),
            None,
        )

    def find_merged_patch(self, merge: PullOutcome) -> str | None:
        """Return the SHA-256 of the diff that a merge contained; None when the bot does not know it."""
        submissions = self.record.submissions
        at_head = [
            submission.patch
            for submission in submissions
            if submission.head == merge.head and submission.patch
        ]
        if at_head:
            return at_head[-1]
        # GitHub's times are whole seconds.
        judged = [
            judgement.patch
            for judgement in self.record.judgements
            if judgement.judged_at.replace(microsecond=0) <= merge.occurred_at
        ]
        return judged[-1] if judged and merge.kind is OutcomeKind.MERGED else None

    def find_survival(self) -> PullOutcome | None:
        """Return the last count of surviving lines that was made 30 days or more after the merge, or None."""
        counts = [
            outcome
            for outcome in self.record.outcomes
            if outcome.kind is OutcomeKind.SURVIVAL and outcome.reason in SURVIVAL_COUNTS
        ]
        return counts[-1] if counts else None

    def find_change_request(self) -> PullOutcome | None:
        """Return the last review that requests changes of this patch and was not withdrawn, or None."""
        requests = [
            review
            for review in self._find_reviews().values()
            if review.reason == "changes_requested"
        ]
        return requests[-1] if requests else None

    def find_failed_ci(self) -> PullOutcome | None:
        """Return the last failure of a CI on this patch if the same CI succeeded on a rival, or None."""
        passed = {
            outcome.actor
            for rival in self.rivals
            for outcome in rival.outcomes
            if outcome.kind is OutcomeKind.CI and outcome.reason == "success"
        }
        failed = [
            outcome
            for outcome in self.record.outcomes
            if outcome.kind is OutcomeKind.CI
            and outcome.reason == "failure"
            and outcome.head in self.heads
        ]
        return next((failure for failure in reversed(failed) if failure.actor in passed), None)

    def list_opinions(self) -> list[tuple[bool, PullOutcome]]:
        """Return (is_correct, outcome) for each comment on the bot's verdict by a person with write permission.

        `is_correct` is what the comment says of this patch.
        """
        opinions = []
        for comment in self.record.outcomes:
            verdicts = [
                judgement.verdict
                for judgement in self.record.judgements
                if judgement.evaluation == comment.evaluation and judgement.patch == self.patch
            ]
            right = _SAYS_RIGHT.get((comment.kind, verdicts[-1])) if verdicts else None
            if comment.permission in CAN_WRITE and right is not None:
                opinions.append((right, comment))
        return opinions

    def _find_reviews(self) -> dict[str | None, PullOutcome]:
        """Return the last decisive review of this patch by each person with write permission."""
        return {
            outcome.actor: outcome
            for outcome in self.record.outcomes
            if outcome.kind is OutcomeKind.REVIEWED
            and outcome.reason in {"approved", "changes_requested"}
            and outcome.permission in CAN_WRITE
            and outcome.head in self.heads
        }
