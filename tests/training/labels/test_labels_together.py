"""Labels of many patches side by side: caps, what people checked, and what was known on a day in the past."""

from dataclasses import replace

import pytest

from app.outcomes.judgement import LabelCheck
from app.values.identifiers import IssueRef, RepositoryRef
from tests.builders.history.pull_outcomes import (
    CLOSED,
    DAY,
    DISAGREE,
    FAILED,
    LATER,
    MERGED,
    START,
    build_judgement,
    build_record,
    build_submission,
    build_survival,
)
from training.labels import labels
from training.labels.label_rule import LabelGrade


def test_patches_of_all_pull_requests_are_labelled():
    first = build_record(
        FAILED, CLOSED, patches=["first", replace(build_submission("p"), patch="p")]
    )
    unread = build_submission(None)
    second = build_record(replace(FAILED, reason="success"), patches=[unread, "r"], pull=13)
    label = labels.label_patches([first, second], LATER)
    assert [(each.pull, each.patch, each.is_first, each.rule_name) for each in label] == [
        (12, "first", True, "outdated"),
        (12, "p", False, "failed_ci"),
        (13, "r", True, "open"),
    ]


def label_crowd(*, owners):
    """Label merges of 200 persons in the owners' repositories, and 400 by one person in 20 repositories of one owner."""
    honest = [(number % owners, number % owners, number) for number in range(200)]
    hostile = [(1_000, 1_000 + number % 20, 9_999) for number in range(400)]
    records = [
        replace(
            build_record(
                replace(MERGED, actor_id=person, evaluation=None),
                issue=IssueRef(RepositoryRef(owner, repository, "octo/cat"), number),
            ),
            group=number,
        )
        for number, (owner, repository, person) in enumerate(honest + hostile)
    ]
    return [label.weight for label in labels.label_patches(records, LATER)]


@pytest.mark.parametrize(("owners", "share"), [(40, 0.01), (9, 2 / 10)])
def test_person_and_owner_weigh_at_most_their_share(owners, share):
    weights = label_crowd(owners=owners)
    assert sum(weights[200:]) == pytest.approx(share * sum(weights), rel=1e-3)
    assert weights[:200] == pytest.approx([1.0] * 200)


def test_one_installation_trusts_its_maintainers():
    many = [replace(build_record(MERGED), group=number) for number in range(1_000)]
    assert {label.weight for label in labels.label_patches(many, LATER)} == {labels.ECHO_WEIGHT}


def test_labels_of_a_past_day_ignore_later_events():
    """Not of a later patch, of a rival that came after, or of a verdict: what it says then is what was said then."""
    later = build_record(
        patches=["p", build_submission("q", days=5)],
        judgements=[build_judgement(), build_judgement(2, days=5)],
    )
    rival = build_record(patches=[build_submission("r", days=4)], pull=13)
    then = labels.label_patches([later, rival], START + 3 * DAY)
    assert then == labels.label_patches([build_record()], START + 3 * DAY)
    assert [(each.pull, each.patch, each.rule_name) for each in then] == [(12, "p", "open")]
    now = labels.label_patches([later, rival], START + 6 * DAY)
    assert [(each.patch, each.rule_name) for each in now] == [
        ("p", "outdated"),
        ("q", "open"),
        ("r", "open"),
    ]


def label_with_checks(fates, answers, now=LATER):
    """The label of a pull request of which nobody has checked anything, beside as many that were."""
    others = [build_record(*fates, pull=100 + at) for at in range(len(answers))]
    checks = {
        (1, 100 + at, "p"): LabelCheck(answer, START + 50 * DAY)
        for at, answer in enumerate(answers)
    }
    return labels.label_patches([build_record(*fates), *others], now, checks)


def test_audited_rule_has_its_audited_probability():
    label, *_ = label_with_checks([MERGED], [at < 10 for at in range(40)])
    assert (label.rule_name, label.probability) == ("merged", pytest.approx(19 / 50))
    label, *_ = label_with_checks([MERGED, build_survival(0.5)], [True] * 30)
    assert (label.rule_name, label.probability) == ("survived", pytest.approx(39.5 / 40))
    assert label.label is LabelGrade.CORRECT
    label, *_ = label_with_checks([], [True])
    assert (label.rule_name, label.probability) == ("open", None)


@pytest.mark.parametrize(
    ("fates", "answers", "grade"),
    [
        ([DISAGREE], [True] * 10, LabelGrade.WEAKLY_CORRECT),
        ([DISAGREE], [True] * 3, LabelGrade.WEAKLY_INCORRECT),
        ([MERGED], [False] * 10, LabelGrade.WEAKLY_INCORRECT),
    ],
)
def test_rule_audited_as_wrong_changes_its_grade(fates, answers, grade):
    label, *_ = label_with_checks(fates, answers)
    assert label.label is grade
    assert (label.probability >= 0.5) is grade.is_positive


def test_checked_patch_is_labelled_by_its_check():
    _, right, wrong = label_with_checks([MERGED], [True, False])
    assert (right.rule_name, right.label, right.probability) == (
        "checked_right",
        LabelGrade.CORRECT,
        0.99,
    )
    assert (wrong.rule_name, wrong.label, wrong.probability) == (
        "checked_wrong",
        LabelGrade.INCORRECT,
        0.01,
    )
    assert (wrong.weight, wrong.is_echo, wrong.outcome_at) == (1.0, False, START + 50 * DAY)
    assert wrong.evidence[-1] == "looked at on 2026-04-20"
    _, *before = label_with_checks([MERGED], [True, False], now=START + 49 * DAY)
    assert {each.rule_name for each in before} == {"merged"}
