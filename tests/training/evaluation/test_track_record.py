"""What a model said, held against labels: exact numbers, and nothing unknown counted as wrong."""

import pytest

from model.domain import Verdict
from model.evaluation.wilson import compute_wilson_interval
from tests.builders.history.pull_outcomes import ISSUE, JUDGE, START, build_judgement, build_record
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


def build_label(group, rule="merged", *, pull=1, weight=1.0, is_echo=False):
    labelled_by = RULES[rule]
    return LabelledPatch(
        group=group,
        issue=ISSUE,
        pull=pull,
        patch="p",
        submitted_at=START,
        is_first=True,
        rule_name=rule,
        label=labelled_by.grade,
        probability=labelled_by.probability,
        evidence=(),
        weight=0.0 if labelled_by.grade is LabelGrade.UNKNOWN else weight,
        is_echo=is_echo,
        outcome_at=START,
        settles_at=None,
        rule_version=RULE_VERSION,
    )


def compare(pairs, *, before=(), least_issues=1):
    """Labels, each with what was said of its patch."""
    verdicts = {each.key: RecordedVerdict(verdicts, "base") for each, verdicts in pairs}
    return compare_with_labels([each for each, _ in pairs], before, verdicts, least_issues)


FOUR = [
    (build_label(1), (RIGHT, RIGHT)),
    (build_label(1, "reverted", pull=2, is_echo=True, weight=0.5), (WRONG, RIGHT)),
    (build_label(2), (WRONG, RIGHT)),
    (build_label(3, "sent_back"), (WRONG, RIGHT)),
    (build_label(4), (RIGHT, RIGHT)),
]
"""Weights 1, 0.5, 1, 0.5 and 1; correct, incorrect, correct, incorrect, correct."""


def test_shares_are_weighed_by_labels():
    comparison = compare(FOUR)
    assert (comparison.patches, comparison.compared, comparison.issues, comparison.echoes) == (
        5,
        5,
        4,
        1,
    )
    assert comparison.voices == (VerdictCounts(4, 0, 0), VerdictCounts(3, 0, 0))
    model, judge = comparison.measured.shares
    assert model[ACCURACY].value == pytest.approx(3 / 4)
    assert judge[ACCURACY].value == pytest.approx(3 / 4)
    assert comparison.measured.all_correct == pytest.approx(3 / 4)
    assert (model[FALSE_ACCEPTS].value, judge[FALSE_ACCEPTS].value) == (0.0, 1.0)
    paired = comparison.measured.paired
    assert paired.difference[ACCURACY].value == pytest.approx(0.0)
    assert paired.difference[FALSE_ACCEPTS].value == -1.0
    assert (paired.only_model, paired.only_judge, paired.p_differs) == (2, 1, 1.0)


def test_constant_share_has_a_wilson_interval():
    comparison = compare(FOUR)
    model, judge = (each[FALSE_ACCEPTS] for each in comparison.measured.shares)
    assert (model.low, model.high) == compute_wilson_interval(0, 2), (
        "two issues have an incorrect patch"
    )
    assert (judge.low, judge.high) == compute_wilson_interval(2, 2)
    all_right = compare([(build_label(number), (RIGHT,)) for number in range(30)], least_issues=30)
    share = all_right.measured.shares[0][ACCURACY]
    assert (share.value, share.low, share.high) == (1.0, *compute_wilson_interval(30, 30))
    assert all_right.measured.shares[0][FALSE_ACCEPTS].value is None, "nothing is incorrect"


def test_interval_is_paired_by_issue():
    """In ten of forty issues the model alone is right about both patches: the interval is that of a share of issues."""
    pairs = [
        (build_label(number, pull=pull), (RIGHT, WRONG if number < 10 else RIGHT))
        for number in range(40)
        for pull in (1, 2)
    ]
    difference = compare(pairs).measured.paired.difference[ACCURACY]
    assert difference.value == pytest.approx(0.25)
    assert (difference.low, difference.high) == (
        pytest.approx(0.125, abs=0.03),
        pytest.approx(0.4, abs=0.03),
    )


def test_unknown_unsure_and_unjudged_are_counted_apart():
    comparison = compare(
        [
            *FOUR,
            (build_label(5, "open"), (RIGHT, WRONG)),
            (build_label(6, "lately"), (UNSURE, RIGHT)),
            (build_label(7, "open"), (NOT, NOT)),
            (build_label(8), (UNSURE, RIGHT)),
            (build_label(9), (RIGHT, UNSURE)),
            (build_label(9, pull=2), (NOT, UNSURE)),
        ]
    )
    assert comparison.measured == compare(FOUR).measured
    assert (comparison.patches, comparison.compared, comparison.unclaimed, comparison.learnt) == (
        11,
        5,
        3,
        0,
    )
    assert comparison.unknown == {"open": 2, "lately": 1}
    assert comparison.voices == (VerdictCounts(4, 1, 1), VerdictCounts(3, 2, 0))


def test_patches_the_model_may_have_learnt_from_are_left_out():
    unknown_then = build_label(2, "open")
    comparison = compare(
        [*FOUR, (build_label(1, "open", pull=3), (RIGHT, RIGHT))], before=[FOUR[0][0], unknown_then]
    )
    assert (comparison.patches, comparison.learnt, comparison.compared, comparison.issues) == (
        6,
        3,
        3,
        3,
    )
    assert comparison.unknown == {}


def test_too_few_issues_are_counted_but_not_measured():
    comparison = compare(FOUR, least_issues=5)
    assert comparison.measured is None
    assert comparison.voices == compare(FOUR).voices
    assert compare(FOUR, least_issues=4).measured is not None


def test_unknown_labels_are_not_measured():
    comparison = compare([(build_label(1, "open"), (RIGHT, WRONG))], least_issues=30)
    assert (comparison.compared, comparison.issues, comparison.measured) == (0, 0, None)
    assert compare_with_labels([build_label(1)], [], {}) is None


def test_model_as_judge_has_no_comparison():
    comparison = compare([(each, verdicts[:1]) for each, verdicts in FOUR])
    assert comparison.voices == (VerdictCounts(4, 0, 0),)
    assert comparison.measured.shares[0][ACCURACY].value == pytest.approx(3 / 4)
    assert comparison.measured.paired is None


def test_last_verdict_on_a_patch_counts():
    pull_record = build_record(
        judgements=[
            build_judgement(1, verdict=RIGHT),
            build_judgement(2, verdict=WRONG, days=1),
            build_judgement(3, verdict=UNSURE, patch="q", days=2),
            build_judgement(4, verdict=RIGHT, patch=None, days=3),
        ]
    )
    model = JUDGE.engine.model
    assert list_judge_verdicts([pull_record], model) == {
        (1, 12, "p"): RecordedVerdict((WRONG,), model),
        (1, 12, "q"): RecordedVerdict((UNSURE,), model),
    }
    assert list_judge_verdicts([pull_record], "another") == {}
    assert list_shadow_verdicts(
        [pull_record], {1: {12: WRONG}, 3: {13: RIGHT}, 4: {12: RIGHT}}
    ) == {(1, 12, "p"): RecordedVerdict((WRONG, RIGHT), model)}, (
        "beside what was said of the same evaluation"
    )
