"""What became of a patch says correct, incorrect or nothing; nothing is never taken for incorrect."""

from dataclasses import replace

import pytest

from app.outcomes import OutcomeKind
from model.domain import Verdict
from tests.builders.pull_outcomes import (
    AGREE,
    APPROVED,
    ASKED,
    CLOSED,
    DAY,
    DISAGREE,
    FAILED,
    ISSUE,
    LATER,
    MERGED,
    REVERTED,
    START,
    fate,
    judgement,
    record,
    submission,
    survived,
)
from training.labels import labels, rules
from training.labels.label_rule import LabelGrade
from training.labels.rules import HOLD_PERIOD, RULES


def told(*fates, patch="p", now=LATER, rivals=(), **about):
    return labels.label_patch(record(*fates, **about), patch, now, rivals)


def closed(reason, **about):
    return fate(OutcomeKind.CLOSED, reason=reason, **about)


def passed_rival(actor="ci[bot]"):
    return record(replace(FAILED, reason="success", actor=actor), pull=13)


REOPENED_ISSUE = fate(OutcomeKind.REOPENED, reason="issue", days=3)
CASES = {
    "merged": ([MERGED], {}),
    "survived": ([MERGED, survived(0.9)], {}),
    "rewritten": ([MERGED, survived(0.4)], {}),
    "lines_gone": ([MERGED, survived(0.05)], {}),
    "reverted": ([MERGED, REVERTED], {}),
    "reverted_late": ([MERGED, replace(REVERTED, occurred_at=START + 92 * DAY)], {}),
    "issue_reopened": ([MERGED, REOPENED_ISSUE], {}),
    "disputed": ([MERGED, DISAGREE], {}),
    "lately": ([MERGED], {"now": MERGED.occurred_at + HOLD_PERIOD - DAY}),
    "merged_by_author": ([replace(MERGED, by_author=True)], {}),
    "merged_with_help": (
        [replace(MERGED, head="at q")],
        {"patches": ["p", submission("q", days=0.5, by_author=False)], "patch": "q"},
    ),
    "mended": (
        [replace(MERGED, head="at q")],
        {"patches": ["p", submission("q", days=0.5, by_author=False)]},
    ),
    "sent_back": ([ASKED, replace(MERGED, head="at q")], {"patches": ["p", "q"]}),
    "changed": ([replace(MERGED, head="at q")], {"patches": ["p", "q"]}),
    "unread": (
        [replace(MERGED, head="at another")],
        {"judgements": [judgement(patch=None)]},
    ),
    "called_right": ([AGREE], {}),
    "called_wrong": ([DISAGREE, CLOSED], {}),
    "words_differ": ([AGREE, replace(DISAGREE, actor="another")], {}),
    "landed": ([closed("landed_indirectly")], {}),
    "failed_ci": ([FAILED, closed("superseded")], {"rivals": [passed_rival()]}),
    "rejected": ([ASKED, CLOSED], {}),
    "superseded": ([ASKED, closed("superseded")], {}),
    "withdrawn": ([closed("issue_not_planned")], {}),
    "closed_by_author": ([closed("closed_by_author")], {}),
    "closed_by_bot": ([closed("closed_by_bot")], {}),
    "closed": ([CLOSED], {}),
    "outdated": ([], {"patches": ["p", "q"]}),
    "open": ([], {}),
}


DERIVED = [rule for rule in RULES if rule not in rules.CHECKED_RULES.values()]


@pytest.mark.parametrize("rule", DERIVED)
def test_every_rule_has_its_case(rule):
    fates, about = CASES[rule]
    found = told(*fates, **about)
    assert found.rule_name == rule
    assert found.label is RULES[rule].grade
    assert found.rule_version == rules.RULE_VERSION


@pytest.mark.parametrize("rule", DERIVED)
def test_unknown_is_no_probability_no_weight_and_no_time(rule):
    fates, about = CASES[rule]
    found = told(*fates, **about)
    if found.label is LabelGrade.UNKNOWN:
        assert (found.probability, found.confidence, found.outcome_at) == (None, None, None)
        assert (found.weight, found.is_echo) == (0.0, False)
    else:
        assert (found.probability > 0.5) is found.label.is_positive
        assert found.confidence == pytest.approx(abs(found.probability - 0.5) + 0.5)
        assert found.weight > 0
        assert START < found.outcome_at <= LATER


@pytest.mark.parametrize(
    ("fates", "about", "why"),
    [
        ([CLOSED, fate(OutcomeKind.REOPENED, reason="pull_request", days=2)], {}, "open"),
        ([closed("issue_duplicate")], {}, "withdrawn"),
        ([closed("unknown")], {}, "closed"),
        ([CLOSED], {"patches": ["p", "q"]}, "outdated"),
        ([closed("landed_indirectly"), REVERTED], {}, "reverted"),
        ([closed("landed_indirectly"), REOPENED_ISSUE], {}, "issue_reopened"),
        ([closed("landed_indirectly"), DISAGREE], {"now": START + 3 * DAY}, "disputed"),
        ([closed("landed_indirectly")], {"patches": ["p", "q"]}, "outdated"),
        ([CLOSED], {"now": CLOSED.occurred_at + HOLD_PERIOD - DAY}, "lately"),
        ([fate(OutcomeKind.AGREE, permission="read")], {}, "open"),
        ([fate(OutcomeKind.AGREE, permission=None)], {}, "open"),
        ([fate(OutcomeKind.AGREE, evaluation=None)], {}, "open"),
        ([replace(ASKED, permission="read"), CLOSED], {}, "closed"),
        ([replace(ASKED, head="at q"), CLOSED], {}, "closed"),
        ([ASKED, APPROVED, CLOSED], {}, "closed"),
        ([FAILED, CLOSED], {"rivals": [passed_rival("lint[bot]")]}, "closed"),
        ([replace(FAILED, head="at q"), CLOSED], {"rivals": [passed_rival()]}, "closed"),
        ([FAILED], {"rivals": [passed_rival()]}, "open"),
        ([fate(OutcomeKind.MERGED_AFTER_CHANGES, head="unseen")], {}, "changed"),
        ([fate(OutcomeKind.MERGED_AFTER_CHANGES, head="unseen")],
         {"now": START + 3 * DAY}, "lately"),
        ([replace(MERGED, by_author=True), APPROVED], {}, "merged"),
        ([MERGED, survived(None)], {}, "merged"),
        ([MERGED, survived(0.0, days=8, reason="after_7_days")], {}, "merged"),
        ([AGREE, MERGED], {}, "merged"),
        ([MERGED, DISAGREE, REVERTED], {}, "reverted"),
        ([AGREE, MERGED], {"now": START + 3 * DAY}, "called_right"),
        ([DISAGREE, MERGED], {"now": START + 3 * DAY}, "disputed"),
        ([AGREE, ASKED, CLOSED], {}, "disputed"),
        ([AGREE, MERGED, REOPENED_ISSUE], {}, "issue_reopened"),
    ],
)  # fmt: skip
def test_what_is_told_apart(fates, about, why):
    assert told(*fates, **about).rule_name == why


@pytest.mark.parametrize(
    ("verdict", "word", "grade"),
    [
        (Verdict.CORRECT, AGREE, LabelGrade.WEAKLY_CORRECT),
        (Verdict.CORRECT, DISAGREE, LabelGrade.WEAKLY_INCORRECT),
        (Verdict.INCORRECT, AGREE, LabelGrade.WEAKLY_INCORRECT),
        (Verdict.INCORRECT, DISAGREE, LabelGrade.WEAKLY_CORRECT),
        (Verdict.UNSURE, AGREE, LabelGrade.UNKNOWN),
    ],
)
def test_a_word_is_about_what_the_verdict_claimed(verdict, word, grade):
    assert told(word, judgements=[judgement(verdict=verdict)]).label is grade


def test_a_word_is_about_the_patch_that_was_judged():
    spoken = record(
        AGREE, patches=["p", "q"], judgements=[judgement(1), judgement(2, patch="q", days=2)]
    )
    assert labels.label_patch(spoken, "p", LATER).rule_name == "called_right"
    assert labels.label_patch(spoken, "q", LATER).rule_name == "open"


def test_bringing_a_patch_up_to_date_is_no_help():
    known = ["p", replace(submission("p", days=0.5, by_author=False), head="updated")]
    assert told(replace(MERGED, head="updated"), patches=known).rule_name == "merged"


def test_what_was_merged_is_found_by_its_head_or_by_what_was_judged_last():
    known = ["p", submission("q", days=0.5), submission("p", days=0.7)]
    assert told(replace(MERGED, head="at q"), patches=known, patch="q").rule_name == "merged"
    rebased = replace(MERGED, head="rebased")
    assert told(rebased).rule_name == "merged"
    late = [judgement(1), judgement(2, patch="q", days=5)]
    assert told(rebased, patches=["p", "q"], judgements=late).rule_name == "merged"


def test_weak_grades_are_those_that_lean():
    assert [one for one in LabelGrade if one.is_weak] == [
        LabelGrade.WEAKLY_CORRECT,
        LabelGrade.WEAKLY_INCORRECT,
    ]


def test_evidence_says_what_happened_and_names_nobody():
    found = told(MERGED, AGREE, survived(0.9))
    assert found.evidence == (
        "merged by somebody with write on 2026-03-02",
        "90% of its lines left after 30 days",
        "called right by somebody with write on 2026-03-02",
    )
    assert told(replace(MERGED, by_author=True, permission=None)).evidence == (
        "merged by its author on 2026-03-02",
    )
    assert found.decided_by == "maintainer"


def test_the_issue_goes_with_the_label():
    found = told(MERGED)
    assert (found.group, found.issue, found.pull, found.submitted_at) == (1, ISSUE, 12, START)
