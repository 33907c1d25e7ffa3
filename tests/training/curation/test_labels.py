"""What became of a patch says correct, incorrect or nothing; nothing is never taken for incorrect."""

from datetime import UTC, datetime, timedelta

import pytest

from app.judgements import Fate, Judge, Judgement, PullRecord
from app.outcomes import OutcomeKind
from model.calibration import Evidence
from model.domain import EngineInfo, Label, Verdict
from training.curation.labels import HELD_FOR, label

JUDGE = Judge("r4p", EngineInfo("vLLM", "R4P-32B", "9f3c1a77aa52"))
OTHER = Judge("consensus", EngineInfo("consensus", "everything", "0" * 12))
DAY = timedelta(days=1)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
LATER = START + 60 * DAY
KNOWN = Evidence(score=0.75, valid=4)


def judgement(number=1, *, judge=JUDGE, verdict=Verdict.CORRECT, patch="p", days=0.0):
    return Judgement(judge, number, START + days * DAY, patch, verdict, KNOWN)


def fate(kind, *, days=1.0, reason=None, permission="write", evaluation=1):
    return Fate(kind, reason, permission, evaluation, START + days * DAY)


MERGED = fate(OutcomeKind.MERGED)
REVERTED = fate(OutcomeKind.REVERTED, days=40)
CLOSED = fate(OutcomeKind.CLOSED, reason="closed_by_maintainer")
AGREE, DISAGREE = fate(OutcomeKind.AGREE), fate(OutcomeKind.DISAGREE)
FIRST = judgement()


def told(*fates, judgements=(FIRST,), judge=JUDGE, now=LATER):
    found = label(PullRecord(1, 12, tuple(judgements), fates), judge, now)
    assert (found.label is None) == (found.judgement is None)
    return found.label, found.why


@pytest.mark.parametrize(
    ("fates", "found", "why"),
    [
        ([MERGED], Label.CORRECT, "merged as it was judged, and not reverted"),
        ([MERGED, REVERTED], Label.INCORRECT, "reverted"),
        ([AGREE], Label.CORRECT, "a maintainer agrees"),
        ([DISAGREE], Label.INCORRECT, "a maintainer disagrees"),
        ([DISAGREE, CLOSED], Label.INCORRECT, "a maintainer disagrees"),
        ([AGREE, MERGED], Label.CORRECT, "merged as it was judged, and not reverted"),
    ],
)
def test_what_was_done_or_said_labels_the_patch(fates, found, why):
    assert told(*fates) == (found, why)


@pytest.mark.parametrize(
    ("fates", "why"),
    [
        ([], "open"),
        ([CLOSED], "closed"),
        ([fate(OutcomeKind.CLOSED, reason="superseded")], "closed"),
        ([fate(OutcomeKind.MERGED_AFTER_CHANGES)], "merged after changes"),
        ([fate(OutcomeKind.REVIEWED, reason="changes_requested")], "open"),
        ([MERGED, fate(OutcomeKind.REOPENED, reason="issue", days=3)],
         "merged, and its issue was opened again"),
        ([DISAGREE, MERGED], "merged, and a maintainer holds it incorrect"),
        ([AGREE, DISAGREE], "maintainers disagree with each other"),
        ([fate(OutcomeKind.AGREE, permission="read")], "open"),
        ([fate(OutcomeKind.AGREE, permission=None)], "open"),
        ([fate(OutcomeKind.AGREE, evaluation=None)], "open"),
    ],
)  # fmt: skip
def test_what_proves_nothing_is_unknown_and_says_why(fates, why):
    assert told(*fates) == (None, why)


def test_a_merge_has_to_hold_for_a_while():
    assert told(MERGED, now=MERGED.occurred_at + HELD_FOR - DAY) == (None, "merged too lately")
    assert told(MERGED, now=MERGED.occurred_at + HELD_FOR)[0] is Label.CORRECT


def test_to_disagree_with_incorrect_is_to_say_correct():
    said = judgement(verdict=Verdict.INCORRECT)
    assert told(DISAGREE, judgements=[said])[0] is Label.CORRECT
    assert told(AGREE, judgements=[said])[0] is Label.INCORRECT
    unsure = judgement(verdict=Verdict.UNSURE)
    assert told(AGREE, judgements=[unsure]) == (None, "open")


def test_a_word_about_a_verdict_is_weaker_than_a_deed():
    record = PullRecord(1, 12, (FIRST,), (AGREE,))
    assert label(record, JUDGE, LATER).is_weak
    assert not label(PullRecord(1, 12, (FIRST,), (MERGED,)), JUDGE, LATER).is_weak


def test_a_merge_is_about_the_patch_that_was_merged():
    old, new = judgement(1, patch="old"), judgement(2, patch="new", days=0.5)
    found = label(PullRecord(1, 12, (old, new), (MERGED,)), JUDGE, LATER)
    assert found.judgement is new
    late = judgement(3, patch="later", days=5)
    found = label(PullRecord(1, 12, (old, new, late), (MERGED,)), JUDGE, LATER)
    assert found.judgement is new


@pytest.mark.parametrize(
    ("judgements", "judge"),
    [
        ([judgement(days=5)], JUDGE),
        ([judgement(patch=None)], JUDGE),
        ([judgement(1, judge=OTHER, patch="old"), judgement(2, patch="p", days=0.5)], OTHER),
    ],
    ids=["judged after the merge", "could not be read", "this judge saw another patch"],
)
def test_a_merge_says_nothing_of_what_this_judge_did_not_see(judgements, judge):
    assert told(MERGED, judgements=judgements, judge=judge) == (
        None,
        "merged, and not judged as it was merged",
    )


def test_a_merge_counts_for_every_judge_of_that_patch():
    both = [judgement(1, judge=OTHER), judgement(2, days=0.5)]
    assert told(MERGED, judgements=both, judge=OTHER)[0] is Label.CORRECT
    assert told(MERGED, judgements=both)[0] is Label.CORRECT
