"""Which labels are checked by hand, and what is read of the answers."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from app.outcomes import OutcomeKind
from app.outcomes.judgement import LabelCheck
from tests.builders.pull_outcomes import ASKED, CLOSED, LATER, MERGED, fate, record
from training.labels import label_checks, labels
from training.labels.audit import FlipRates, LabelAudit

RECORDS = [
    *(record(MERGED, pull=100 + at) for at in range(40)),
    *(record(ASKED, CLOSED, pull=200 + at) for at in range(25)),
    *(record(fate(OutcomeKind.AGREE), pull=300 + at) for at in range(3)),
    *(record(pull=400 + at) for at in range(9)),
]
KNOWN = labels.label_patches(RECORDS, LATER)
COUNTS = Counter(one.rule_name for one in KNOWN)


def answers(chosen, truth):
    for line, one in zip(label_checks.format_questions(chosen), chosen, strict=True):
        yield json.dumps(json.loads(line) | {"correct": truth(one)})


def test_a_sample_takes_rules_evenly_and_leaves_out_what_is_unknown():
    chosen = label_checks.sample_labels(KNOWN, 23)
    counts = [sum(one.rule_name == rule for one in chosen) for rule in ("merged", "rejected")]
    assert counts == [10, 10]
    assert sum(one.rule_name == "called_right" for one in chosen) == 3
    assert len({one.pull for one in chosen}) == 23
    assert len(label_checks.sample_labels(KNOWN, 500)) == 68


def test_the_same_seed_draws_the_same_in_mixed_order():
    drawn = label_checks.sample_labels(KNOWN, 20, seed=4)
    assert drawn == label_checks.sample_labels(KNOWN, 20, seed=4)
    assert drawn != label_checks.sample_labels(KNOWN, 20, seed=5)
    assert sorted(one.rule_name for one in drawn) != [one.rule_name for one in drawn]


def test_questions_do_not_tell_the_label():
    (line,) = label_checks.format_questions(KNOWN[:1])
    assert json.loads(line) == {
        "issue": "octo/cat#3",
        "pull": 100,
        "patch": "p",
        "correct": None,
    }


def test_answers_are_about_patches_and_counted_by_todays_rules():
    lines = list(answers(KNOWN[:65], lambda one: one.pull % 10 != 0))
    truth = label_checks.parse_answers(
        [*lines, "", *label_checks.format_questions(KNOWN[65:68])], KNOWN
    )
    assert truth == {(1, one.pull, "p"): one.pull % 10 != 0 for one in KNOWN[:65]}
    found = labels.audit_labels(KNOWN, truth)
    assert found.checked == {"merged": 40, "rejected": 25}
    assert found.correct == {"merged": 36, "rejected": 22}
    assert label_checks.parse_answers(lines, [replace(one, patch="purged") for one in KNOWN]) == {}


def test_what_was_checked_is_not_asked_again():
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
def test_what_is_no_answer_is_refused_by_its_line(line, why):
    with pytest.raises(ValueError, match=why):
        label_checks.parse_answers(["", line], KNOWN)


def test_the_report_tells_what_rules_are_worth_and_how_often_labels_flip():
    lines = answers(KNOWN[:65], lambda one: one.rule_name == "merged" and one.pull % 2 == 0)
    found = labels.audit_labels(KNOWN, label_checks.parse_answers(lines, KNOWN))
    assert found.estimate_flip_rates(COUNTS) == FlipRates(pytest.approx(20 / 45), 0.0)
    head, merged, rejected, flips = label_checks.format_audit(found, COUNTS)
    assert head.split()[:3] == ["rule", "checked", "correct"]
    assert merged.split() == ["merged", "40", "20", "0.58,", "before", "0.90"]
    assert rejected.split() == ["rejected", "25", "0", "0.04,", "before", "0.15"]
    assert flips == (
        "Labels say correct of 44.4% of incorrect patches, and incorrect of 0.0% of correct ones."
    )


def test_the_report_says_what_was_checked_too_little():
    assert list(label_checks.format_audit(LabelAudit(), COUNTS)) == [
        'No label was checked: write true or false after "correct".'
    ]
    lines = answers(KNOWN[:3], lambda one: True)
    told = list(
        label_checks.format_audit(
            labels.audit_labels(KNOWN, label_checks.parse_answers(lines, KNOWN)), COUNTS
        )
    )
    assert told[-1] == "Too few were checked to say how often labels flip."


def test_a_label_that_became_unknown_is_counted_as_such():
    lines = list(answers(KNOWN[:1], lambda one: True))
    now_open = labels.label_patches([record(pull=100)], LATER)
    truth = label_checks.parse_answers(lines, now_open)
    told = list(label_checks.format_audit(labels.audit_labels(now_open, truth), COUNTS))
    assert told[1].split() == ["open", "1", "1", "unknown"]
