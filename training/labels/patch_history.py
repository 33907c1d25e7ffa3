"""One patch and what became of its pull request: the questions that the rules of labels ask of it (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from app.outcomes import CAN_WRITE, OutcomeKind
from app.outcomes.judgement import Fate, PullRecord
from model.domain import Verdict
from training.labels.rules import COUNTS

MERGES = (OutcomeKind.MERGED, OutcomeKind.MERGED_AFTER_CHANGES)
_SAYS_RIGHT = {
    (OutcomeKind.AGREE, Verdict.CORRECT): True,
    (OutcomeKind.DISAGREE, Verdict.INCORRECT): True,
    (OutcomeKind.AGREE, Verdict.INCORRECT): False,
    (OutcomeKind.DISAGREE, Verdict.CORRECT): False,
}


@dataclass(frozen=True, slots=True)
class Case:
    """A patch that was submitted, with what was known of its pull request and its rivals by `now`."""

    record: PullRecord
    patch: str
    rivals: Sequence[PullRecord]
    now: datetime

    @property
    def heads(self) -> frozenset[str]:
        """The commits at which the pull request was this patch."""
        return frozenset(one.head for one in self.record.submissions if one.patch == self.patch)

    @property
    def is_last(self) -> bool:
        """Nothing else was submitted after it."""
        return self.record.submissions[-1].patch == self.patch

    @property
    def is_helped(self) -> bool:
        """Somebody else pushed a change that is in it; bringing it up to date is none."""
        known = self.record.submissions
        at = next(place for place, one in enumerate(known) if one.patch == self.patch)
        steps = pairwise(known[: at + 1])
        return any(not one.by_author and one.patch != before.patch for before, one in steps)

    @property
    def is_mended(self) -> bool:
        """Somebody else's push made the next patch out of it."""
        known = self.record.submissions
        at = max(place for place, one in enumerate(known) if one.patch == self.patch)
        return at + 1 < len(known) and not known[at + 1].by_author

    @property
    def is_approved(self) -> bool:
        """By somebody with write permission, who did not take it back."""
        return any(one.reason == "approved" for one in self._reviews().values())

    def last(self, *kinds: OutcomeKind) -> Fate | None:
        """What happened last of these."""
        return next((one for one in reversed(self.record.fates) if one.kind in kinds), None)

    def reopened(self, what: str, since: Fate) -> Fate | None:
        """That the `issue` or the `pull_request` was opened again since then."""
        return next(
            (
                one
                for one in self.record.fates
                if one.kind is OutcomeKind.REOPENED
                and one.reason == what
                and one.occurred_at >= since.occurred_at
            ),
            None,
        )

    def merged_patch(self, merge: Fate) -> str | None:
        """What was merged; None: it was never read."""
        known = self.record.submissions
        at_head = [one.patch for one in known if one.head == merge.head and one.patch]
        if at_head:
            return at_head[-1]
        # GitHub's times are whole seconds.
        judged = [
            one.patch
            for one in self.record.judgements
            if one.judged_at.replace(microsecond=0) <= merge.occurred_at
        ]
        return judged[-1] if judged and merge.kind is OutcomeKind.MERGED else None

    def survival(self) -> Fate | None:
        """The last count of its lines that is old enough to say something."""
        counts = [
            one
            for one in self.record.fates
            if one.kind is OutcomeKind.SURVIVAL and one.reason in COUNTS
        ]
        return counts[-1] if counts else None

    def request_for_changes(self) -> Fate | None:
        """The last review of this patch that asks for changes and was not taken back."""
        asked = [one for one in self._reviews().values() if one.reason == "changes_requested"]
        return asked[-1] if asked else None

    def failed_ci(self) -> Fate | None:
        """A failure on this patch of a CI that succeeded on a rival."""
        passed = {
            one.actor
            for rival in self.rivals
            for one in rival.fates
            if one.kind is OutcomeKind.CI and one.reason == "success"
        }
        failed = [
            one
            for one in self.record.fates
            if one.kind is OutcomeKind.CI and one.reason == "failure" and one.head in self.heads
        ]
        return next((one for one in reversed(failed) if one.actor in passed), None)

    def words(self) -> list[tuple[bool, Fate]]:
        """Whether it is right, by the words of those who may write about verdicts on this patch."""
        said = []
        for one in self.record.fates:
            about = [
                each.verdict
                for each in self.record.judgements
                if each.evaluation == one.evaluation and each.patch == self.patch
            ]
            right = _SAYS_RIGHT.get((one.kind, about[-1])) if about else None
            if one.permission in CAN_WRITE and right is not None:
                said.append((right, one))
        return said

    def _reviews(self) -> dict[str | None, Fate]:
        """The last decided review of each person who may write, on this patch."""
        return {
            one.actor: one
            for one in self.record.fates
            if one.kind is OutcomeKind.REVIEWED
            and one.reason in {"approved", "changes_requested"}
            and one.permission in CAN_WRITE
            and one.head in self.heads
        }
