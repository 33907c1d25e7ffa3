"""What a model said, held against labels: exact numbers, and nothing unknown counted as wrong."""

import pytest

from model.domain import Verdict
from model.evaluation.wilson import compute_wilson_interval
from tests.builders.pull_outcomes import ISSUE, JUDGE, START, judgement, record
from training.evaluation.track_record import (
    ACCURACY,
    FALSE_ACCEPTS,
    RecordedVerdict,
    VerdictCounts,
    compare_with_labels,
    list_judge_verdicts,
    list_shadow_verdicts,
)
from training.labels.label_rule import LabelGrade
from training.labels.labels import RULE_VERSION, LabelledPatch
from training.labels.rules import RULES

RIGHT, WRONG, UNSURE, NOT = (
    Verdict.CORRECT,
    Verdict.INCORRECT,
    Verdict.UNSURE,
    Verdict.NOT_JUDGED,
)


def label(group, rule="merged", *, pull=1, weight=1.0, is_echo=False):
    told = RULES[rule]
    return LabelledPatch(
        group=group,
        issue=ISSUE,
        pull=pull,
        patch="p",
        submitted_at=START,
        is_first=True,
        rule_name=rule,
        label=told.grade,
        probability=told.probability,
        evidence=(),
        weight=0.0 if told.grade is LabelGrade.UNKNOWN else weight,
        is_echo=is_echo,
        outcome_at=START,
        settles_at=None,
        decided_by=None,
        rule_version=RULE_VERSION,
    )


def held(pairs, *, before=(), least_issues=1):
    """Labels, each with what was said of its patch."""
    said = {one.key: RecordedVerdict(verdicts, "base") for one, verdicts in pairs}
    return compare_with_labels([one for one, _ in pairs], before, said, least_issues)


FOUR = [
    (label(1), (RIGHT, RIGHT)),
    (label(1, "reverted", pull=2, is_echo=True, weight=0.5), (WRONG, RIGHT)),
    (label(2), (WRONG, RIGHT)),
    (label(3, "sent_back"), (WRONG, RIGHT)),
    (label(4), (RIGHT, RIGHT)),
]
"""Weights 1, 0.5, 1, 0.5 and 1; correct, incorrect, correct, incorrect, correct."""


def test_shares_are_of_what_labels_weigh_and_weak_ones_weigh_half():
    found = held(FOUR)
    assert (found.patches, found.compared, found.issues, found.echoes) == (5, 5, 4, 1)
    assert found.voices == (VerdictCounts(4, 0, 0), VerdictCounts(3, 0, 0))
    model, judge = found.measured.shares
    assert model[ACCURACY].value == pytest.approx(3 / 4)
    assert judge[ACCURACY].value == pytest.approx(3 / 4)
    assert found.measured.all_correct == pytest.approx(3 / 4)
    assert (model[FALSE_ACCEPTS].value, judge[FALSE_ACCEPTS].value) == (0.0, 1.0)
    paired = found.measured.paired
    assert paired.difference[ACCURACY].value == pytest.approx(0.0)
    assert paired.difference[FALSE_ACCEPTS].value == -1.0
    assert (paired.only_model, paired.only_judge, paired.p_differs) == (2, 1, 1.0)


def test_what_was_always_so_may_not_stay_so():
    found = held(FOUR)
    model, judge = (one[FALSE_ACCEPTS] for one in found.measured.shares)
    assert (model.low, model.high) == compute_wilson_interval(0, 2), (
        "two issues have an incorrect patch"
    )
    assert (judge.low, judge.high) == compute_wilson_interval(2, 2)
    all_right = held([(label(number), (RIGHT,)) for number in range(30)], least_issues=30)
    share = all_right.measured.shares[0][ACCURACY]
    assert (share.value, share.low, share.high) == (1.0, *compute_wilson_interval(30, 30))
    assert all_right.measured.shares[0][FALSE_ACCEPTS].value is None, "nothing is incorrect"


def test_the_interval_is_paired_by_issue():
    """In ten of forty issues the model alone is right about both patches: the interval is that of a share of issues."""
    pairs = [
        (label(number, pull=pull), (RIGHT, WRONG if number < 10 else RIGHT))
        for number in range(40)
        for pull in (1, 2)
    ]
    difference = held(pairs).measured.paired.difference[ACCURACY]
    assert difference.value == pytest.approx(0.25)
    assert (difference.low, difference.high) == (
        pytest.approx(0.125, abs=0.03),
        pytest.approx(0.4, abs=0.03),
    )


def test_what_is_unknown_unsure_or_not_judged_is_counted_apart():
    told = held(
        [
            *FOUR,
            (label(5, "open"), (RIGHT, WRONG)),
            (label(6, "lately"), (UNSURE, RIGHT)),
            (label(7, "open"), (NOT, NOT)),
            (label(8), (UNSURE, RIGHT)),
            (label(9), (RIGHT, UNSURE)),
            (label(9, pull=2), (NOT, UNSURE)),
        ]
    )
    assert told.measured == held(FOUR).measured
    assert (told.patches, told.compared, told.unclaimed, told.learnt) == (11, 5, 3, 0)
    assert told.unknown == {"open": 2, "lately": 1}
    assert told.voices == (VerdictCounts(4, 1, 1), VerdictCounts(3, 2, 0))


def test_what_the_model_may_have_learnt_from_says_nothing_of_it():
    unknown_then = label(2, "open")
    told = held(
        [*FOUR, (label(1, "open", pull=3), (RIGHT, RIGHT))], before=[FOUR[0][0], unknown_then]
    )
    assert (told.patches, told.learnt, told.compared, told.issues) == (6, 3, 3, 3)
    assert told.unknown == {}


def test_below_the_least_issues_nothing_is_measured_and_all_is_counted():
    told = held(FOUR, least_issues=5)
    assert told.measured is None
    assert told.voices == held(FOUR).voices
    assert held(FOUR, least_issues=4).measured is not None


def test_without_any_known_label_nothing_is_claimed():
    told = held([(label(1, "open"), (RIGHT, WRONG))], least_issues=30)
    assert (told.compared, told.issues, told.measured) == (0, 0, None)
    assert compare_with_labels([label(1)], [], {}) is None


def test_who_judged_itself_has_nobody_beside_it():
    told = held([(one, verdicts[:1]) for one, verdicts in FOUR])
    assert told.voices == (VerdictCounts(4, 0, 0),)
    assert told.measured.shares[0][ACCURACY].value == pytest.approx(3 / 4)
    assert told.measured.paired is None


def test_of_several_verdicts_on_a_patch_the_last_one_counts():
    spoken = record(
        judgements=[
            judgement(1, verdict=RIGHT),
            judgement(2, verdict=WRONG, days=1),
            judgement(3, verdict=UNSURE, patch="q", days=2),
            judgement(4, verdict=RIGHT, patch=None, days=3),
        ]
    )
    model = JUDGE.engine.model
    assert list_judge_verdicts([spoken], model) == {
        (1, 12, "p"): RecordedVerdict((WRONG,), model),
        (1, 12, "q"): RecordedVerdict((UNSURE,), model),
    }
    assert list_judge_verdicts([spoken], "another") == {}
    assert list_shadow_verdicts([spoken], {1: {12: WRONG}, 3: {13: RIGHT}, 4: {12: RIGHT}}) == {
        (1, 12, "p"): RecordedVerdict((WRONG, RIGHT), model)
    }, "beside what was said of the same evaluation"
