"""Which labels are checked by hand, and what is read of the answers."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from app.outcomes import OutcomeKind
from app.outcomes.judgement import LabelCheck
from tests.builders.history.pull_outcomes import (
    ASKED,
    CLOSED,
    LATER,
    MERGED,
    build_outcome,
    build_record,
)
from training.labels import label_checks, labels
from training.labels.audit import FlipRates, LabelAudit

RECORDS = [
    *(build_record(MERGED, pull=100 + at) for at in range(40)),
    *(build_record(ASKED, CLOSED, pull=200 + at) for at in range(25)),
    *(build_record(build_outcome(OutcomeKind.AGREE), pull=300 + at) for at in range(3)),
    *(build_record(pull=400 + at) for at in range(9)),
]
KNOWN = labels.label_patches(RECORDS, LATER)
COUNTS = Counter(one.rule_name for one in KNOWN)


def answer_questions(chosen, truth):
    for line, one in zip(label_checks.format_questions(chosen), chosen, strict=True):
        yield json.dumps(json.loads(line) | {"correct": truth(one)})


def test_sample_takes_rules_evenly_without_unknown_labels():
    chosen = label_checks.sample_labels(KNOWN, 23)
    counts = [sum(one.rule_name == rule for one in chosen) for rule in ("merged", "rejected")]
    assert counts == [10, 10]
    assert sum(one.rule_name == "called_right" for one in chosen) == 3
    assert len({one.pull for one in chosen}) == 23
    assert len(label_checks.sample_labels(KNOWN, 500)) == 68


def test_seed_decides_the_sample_and_its_order():
    drawn = label_checks.sample_labels(KNOWN, 20, seed=4)
    assert drawn == label_checks.sample_labels(KNOWN, 20, seed=4)
    assert drawn != label_checks.sample_labels(KNOWN, 20, seed=5)
    assert sorted(one.rule_name for one in drawn) != [one.rule_name for one in drawn]


def test_question_does_not_tell_the_label():
    (line,) = label_checks.format_questions(KNOWN[:1])
    assert json.loads(line) == {
        "issue": "octo/cat#3",
        "pull": 100,
        "patch": "p",
        "correct": None,
    }


def test_answers_are_counted_by_todays_rules():
    lines = list(answer_questions(KNOWN[:65], lambda record: record.pull % 10 != 0))
    truth = label_checks.parse_answers(
        [*lines, "", *label_checks.format_questions(KNOWN[65:68])], KNOWN
    )
    assert truth == {(1, one.pull, "p"): one.pull % 10 != 0 for one in KNOWN[:65]}
    audit = labels.audit_labels(KNOWN, truth)
    assert audit.checked == {"merged": 40, "rejected": 25}
    assert audit.correct == {"merged": 36, "rejected": 22}
    assert label_checks.parse_answers(lines, [replace(one, patch="purged") for one in KNOWN]) == {}


def test_checked_patch_is_not_asked_again():
    checks = {one.key: LabelCheck(True, LATER) for one in KNOWN[:40]}
    left = label_checks.sample_labels(labels.label_patches(RECORDS, LATER, checks), 500)
    assert {one.rule_name for one in left} == {"rejected", "called_right"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "line 2 was not printed by `r4p labels sample`"),
        ('{"issue": "o/r#1", "pull": 1, "patch": "p"}', "line 2 .*'correct'"),
        ("[]", "line 2 was not printed"),
        ('{"issue": "o/r#1", "pull": 1, "patch": "p", "correct": "yes"}',
         "line 2: \"correct\" is 'yes'; write true, false, or leave null"),
        ('{"issue": "o/r#1", "pull": 1, "patch": "p", "correct": 1}', '"correct" is 1'),
    ],
)  # fmt: skip
def test_invalid_answer_is_refused_with_its_line(line, why):
    with pytest.raises(ValueError, match=why):
        label_checks.parse_answers(["", line], KNOWN)


def test_report_shows_rule_accuracy_and_flip_rates():
    lines = answer_questions(
        KNOWN[:65], lambda record: record.rule_name == "merged" and record.pull % 2 == 0
    )
    audit = labels.audit_labels(KNOWN, label_checks.parse_answers(lines, KNOWN))
    assert audit.estimate_flip_rates(COUNTS) == FlipRates(pytest.approx(20 / 45), 0.0)
    head, merged, rejected, flips = label_checks.format_audit(audit, COUNTS)
    assert head.split()[:3] == ["rule", "checked", "correct"]
    assert merged.split() == ["merged", "40", "20", "0.58,", "before", "0.90"]
    assert rejected.split() == ["rejected", "25", "0", "0.04,", "before", "0.15"]
    assert flips == (
        "Labels say correct of 44.4% of incorrect patches, and incorrect of 0.0% of correct ones."
    )


def test_report_says_that_too_few_were_checked():
    assert list(label_checks.format_audit(LabelAudit(), COUNTS)) == [
        'No label was checked: write true or false after "correct".'
    ]
    lines = answer_questions(KNOWN[:3], lambda record: True)
    report = list(
        label_checks.format_audit(
            labels.audit_labels(KNOWN, label_checks.parse_answers(lines, KNOWN)), COUNTS
        )
    )
    assert report[-1] == "Too few were checked to say how often labels flip."


def test_label_that_became_unknown_is_counted_as_unknown():
    lines = list(answer_questions(KNOWN[:1], lambda record: True))
    now_open = labels.label_patches([build_record(pull=100)], LATER)
    truth = label_checks.parse_answers(lines, now_open)
    report = list(label_checks.format_audit(labels.audit_labels(now_open, truth), COUNTS))
    assert report[1].split() == ["open", "1", "1", "unknown"]
