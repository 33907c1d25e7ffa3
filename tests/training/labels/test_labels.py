"""What became of a patch says correct, incorrect or nothing; nothing is never taken for incorrect."""

from dataclasses import replace

import pytest

from app.outcomes import OutcomeKind
from model.domain import Verdict
from tests.builders.history.pull_outcomes import (
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
    build_judgement,
    build_outcome,
    build_record,
    build_submission,
    build_survival,
)
from training.labels import labels, rules
from training.labels.label_rule import LabelGrade
from training.labels.rules import HOLD_PERIOD, RULES


def label(*fates, patch="p", now=LATER, rivals=(), **about):
    return labels.label_patch(build_record(*fates, **about), patch, now, rivals)


def build_close(reason, **about):
    return build_outcome(OutcomeKind.CLOSED, reason=reason, **about)


def build_passed_rival(actor="ci[bot]"):
    return build_record(replace(FAILED, reason="success", actor=actor), pull=13)


REOPENED_ISSUE = build_outcome(OutcomeKind.REOPENED, reason="issue", days=3)
CASES = {
    "merged": ([MERGED], {}),
    "survived": ([MERGED, build_survival(0.9)], {}),
    "rewritten": ([MERGED, build_survival(0.4)], {}),
    "lines_gone": ([MERGED, build_survival(0.05)], {}),
    "reverted": ([MERGED, REVERTED], {}),
    "reverted_late": ([MERGED, replace(REVERTED, occurred_at=START + 92 * DAY)], {}),
    "issue_reopened": ([MERGED, REOPENED_ISSUE], {}),
    "disputed": ([MERGED, DISAGREE], {}),
    "lately": ([MERGED], {"now": MERGED.occurred_at + HOLD_PERIOD - DAY}),
    "merged_by_author": ([replace(MERGED, by_author=True)], {}),
    "merged_with_help": (
        [replace(MERGED, head="at q")],
        {"patches": ["p", build_submission("q", days=0.5, by_author=False)], "patch": "q"},
    ),
    "mended": (
        [replace(MERGED, head="at q")],
        {"patches": ["p", build_submission("q", days=0.5, by_author=False)]},
    ),
    "sent_back": ([ASKED, replace(MERGED, head="at q")], {"patches": ["p", "q"]}),
    "changed": ([replace(MERGED, head="at q")], {"patches": ["p", "q"]}),
    "unread": (
        [replace(MERGED, head="at another")],
        {"judgements": [build_judgement(patch=None)]},
    ),
    "called_right": ([AGREE], {}),
    "called_wrong": ([DISAGREE, CLOSED], {}),
    "words_differ": ([AGREE, replace(DISAGREE, actor="another")], {}),
    "landed": ([build_close("landed_indirectly")], {}),
    "failed_ci": ([FAILED, build_close("superseded")], {"rivals": [build_passed_rival()]}),
    "rejected": ([ASKED, CLOSED], {}),
    "superseded": ([ASKED, build_close("superseded")], {}),
    "withdrawn": ([build_close("issue_not_planned")], {}),
    "closed_by_author": ([build_close("closed_by_author")], {}),
    "closed_by_bot": ([build_close("closed_by_bot")], {}),
    **{
        reason: ([FAILED, ASKED, build_close(reason)], {"rivals": [build_passed_rival()]})
        for reason in ("closed_for_quota", "closed_by_gate", "hidden")
    },
    "closed": ([CLOSED], {}),
    "outdated": ([], {"patches": ["p", "q"]}),
    "open": ([], {}),
}


DERIVED = [rule for rule in RULES if rule not in rules.CHECKED_RULES.values()]


@pytest.mark.parametrize("rule", DERIVED)
def test_every_rule_has_its_case(rule):
    fates, about = CASES[rule]
    labelled = label(*fates, **about)
    assert labelled.rule_name == rule
    assert labelled.label is RULES[rule].grade
    assert labelled.rule_version == rules.RULE_VERSION


@pytest.mark.parametrize("rule", DERIVED)
def test_unknown_label_has_no_probability_weight_or_time(rule):
    fates, about = CASES[rule]
    labelled = label(*fates, **about)
    if labelled.label is LabelGrade.UNKNOWN:
        assert (labelled.probability, labelled.confidence, labelled.outcome_at) == (
            None,
            None,
            None,
        )
        assert (labelled.weight, labelled.is_echo) == (0.0, False)
    else:
        assert (labelled.probability > 0.5) is labelled.label.is_positive
        assert labelled.confidence == pytest.approx(abs(labelled.probability - 0.5) + 0.5)
        assert labelled.weight > 0
        assert START < labelled.outcome_at <= LATER


@pytest.mark.parametrize(
    ("fates", "about", "why"),
    [
        ([CLOSED, build_outcome(OutcomeKind.REOPENED, reason="pull_request", days=2)], {}, "open"),
        ([build_close("issue_duplicate")], {}, "withdrawn"),
        ([build_close("unknown")], {}, "closed"),
        ([CLOSED], {"patches": ["p", "q"]}, "outdated"),
        ([build_close("landed_indirectly"), REVERTED], {}, "reverted"),
        ([build_close("landed_indirectly"), REOPENED_ISSUE], {}, "issue_reopened"),
        ([build_close("landed_indirectly"), DISAGREE], {"now": START + 3 * DAY}, "disputed"),
        ([build_close("landed_indirectly")], {"patches": ["p", "q"]}, "outdated"),
        ([CLOSED], {"now": CLOSED.occurred_at + HOLD_PERIOD - DAY}, "lately"),
        ([build_outcome(OutcomeKind.AGREE, permission="read")], {}, "open"),
        ([build_outcome(OutcomeKind.AGREE, permission=None)], {}, "open"),
        ([build_outcome(OutcomeKind.AGREE, evaluation=None)], {}, "open"),
        ([replace(ASKED, permission="read"), CLOSED], {}, "closed"),
        ([replace(ASKED, head="at q"), CLOSED], {}, "closed"),
        ([ASKED, APPROVED, CLOSED], {}, "closed"),
        ([FAILED, CLOSED], {"rivals": [build_passed_rival("lint[bot]")]}, "closed"),
        ([replace(FAILED, head="at q"), CLOSED], {"rivals": [build_passed_rival()]}, "closed"),
        ([FAILED], {"rivals": [build_passed_rival()]}, "open"),
        ([build_outcome(OutcomeKind.MERGED_AFTER_CHANGES, head="unseen")], {}, "changed"),
        ([build_outcome(OutcomeKind.MERGED_AFTER_CHANGES, head="unseen")],
         {"now": START + 3 * DAY}, "lately"),
        ([replace(MERGED, by_author=True), APPROVED], {}, "merged"),
        ([MERGED, build_survival(None)], {}, "merged"),
        ([MERGED, build_survival(0.0, days=8, reason="after_7_days")], {}, "merged"),
        ([AGREE, MERGED], {}, "merged"),
        ([MERGED, DISAGREE, REVERTED], {}, "reverted"),
        ([AGREE, MERGED], {"now": START + 3 * DAY}, "called_right"),
        ([DISAGREE, MERGED], {"now": START + 3 * DAY}, "disputed"),
        ([AGREE, ASKED, CLOSED], {}, "disputed"),
        ([AGREE, MERGED, REOPENED_ISSUE], {}, "issue_reopened"),
    ],
)  # fmt: skip
def test_similar_histories_get_their_own_rule(fates, about, why):
    assert label(*fates, **about).rule_name == why


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
def test_maintainers_word_is_about_the_claim(verdict, word, grade):
    assert label(word, judgements=[build_judgement(verdict=verdict)]).label is grade


def test_maintainers_word_is_about_the_judged_patch():
    spoken = build_record(
        AGREE,
        patches=["p", "q"],
        judgements=[build_judgement(1), build_judgement(2, patch="q", days=2)],
    )
    assert labels.label_patch(spoken, "p", LATER).rule_name == "called_right"
    assert labels.label_patch(spoken, "q", LATER).rule_name == "open"


def test_branch_update_by_another_is_no_help():
    submissions = ["p", replace(build_submission("p", days=0.5, by_author=False), head="updated")]
    assert label(replace(MERGED, head="updated"), patches=submissions).rule_name == "merged"


def test_merged_patch_is_found_by_head_or_last_judgement():
    submissions = ["p", build_submission("q", days=0.5), build_submission("p", days=0.7)]
    assert label(replace(MERGED, head="at q"), patches=submissions, patch="q").rule_name == "merged"
    rebased = replace(MERGED, head="rebased")
    assert label(rebased).rule_name == "merged"
    late = [build_judgement(1), build_judgement(2, patch="q", days=5)]
    assert label(rebased, patches=["p", "q"], judgements=late).rule_name == "merged"


def test_weak_grades_are_the_leaning_ones():
    assert [one for one in LabelGrade if one.is_weak] == [
        LabelGrade.WEAKLY_CORRECT,
        LabelGrade.WEAKLY_INCORRECT,
    ]


def test_evidence_names_no_person():
    labelled = label(MERGED, AGREE, build_survival(0.9))
    assert labelled.evidence == (
        "merged by somebody with write on 2026-03-02",
        "90% of its lines left after 30 days",
        "called right by somebody with write on 2026-03-02",
    )
    assert label(replace(MERGED, by_author=True, permission=None)).evidence == (
        "merged by its author on 2026-03-02",
    )


def test_label_keeps_its_issue():
    labelled = label(MERGED)
    assert (labelled.group, labelled.issue, labelled.pull, labelled.submitted_at) == (
        1,
        ISSUE,
        12,
        START,
    )
