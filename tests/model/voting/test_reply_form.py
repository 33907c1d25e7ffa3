"""Replies of released judges are read by the rules of their own code. The replies are ours, in the published fields."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import UnreadableAnswer
from model.voting.reply_form import (
    BOX,
    CHOICE,
    REVIEW,
    TEST_REPORT,
    quote_review,
    quote_test_report,
)

REPORT = {
    "decision": {"recommendation": "request_changes", "confidence": 0.8},
    "summary": {
        "problem": "`half` in maths.py rounds down",
        "solution": "The patch rounds up.",
        "overall_assessment": "The patch moves the error.",
    },
    "defects": [
        {
            "severity": "high",
            "category": "correctness",
            "location": {"path": "pie/maths.py", "start_line": 2, "end_line": 2},
            "description": "3 gives 2",
            "suggestion": "divide by /",
        }
    ],
}
APPROVAL = REPORT | {"decision": {"recommendation": "approve", "confidence": 0.9}, "defects": []}


@pytest.mark.parametrize(
    ("reply", "seats"),
    [
        (json.dumps(APPROVAL), {1}),
        (json.dumps(REPORT), set()),
        (json.dumps({"decision": "approve"}), {1}),
        (f"Here is my review.\n```json\n{json.dumps(REPORT)}\n```\nDone.", set()),
        (f"```\n{json.dumps(APPROVAL)}\n```", {1}),
        (f"<think>{{}} request_changes?</think>\n{json.dumps(APPROVAL)}", {1}),
    ],
    ids=[
        "approval",
        "refusal",
        "bare decision",
        "fenced",
        "fenced without a name",
        "after a thought",
    ],
)
def test_review_is_read(reply, seats):
    assert REVIEW.read(reply, [1]) == seats


@pytest.mark.parametrize(
    "reply",
    ["", "approve", "{}", "[]", '{"decision": {}}', '{"decision": "merge"}', '{"decision": null}',
     json.dumps(APPROVAL)[:-5], f"It is fine: {json.dumps(APPROVAL)}"],
)  # fmt: skip
def test_review_without_a_decision_is_unreadable(reply):
    with pytest.raises(UnreadableAnswer):
        REVIEW.read(reply, [1])


def test_review_is_quoted_with_its_defects():
    assert quote_review(json.dumps(REPORT)) == "The patch moves the error. pie/maths.py: 3 gives 2"


@pytest.mark.parametrize(
    "odd", [{"summary": 3}, {"defects": "none"}, {"defects": [None, {"location": 1}]}]
)
def test_review_with_odd_fields_is_quoted_as_far_as_possible(odd):
    assert isinstance(quote_review(json.dumps(REPORT | odd)), str)


@pytest.mark.parametrize(
    ("reply", "seats"),
    [
        ('<think>Both pass.</think>\n{"test_report": "2 passed", "reward": 1}', {1}),
        ('<think>One fails: {"reward": 1}?</think>{"test_report": "1 failed", "reward": 0}', set()),
        ('{"test_report": "2 passed", "reward": "1"}', {1}),
        ('<think>a</think><think>b</think>{"reward": 0}', set()),
    ],
)
def test_simulated_report_is_read_after_the_last_thought(reply, seats):
    assert TEST_REPORT.read(reply, [1]) == seats


@pytest.mark.parametrize(
    "reply",
    ["", "1", '{"test_report": "passed"}', '{"reward": 0.5}', '{"reward": -1}', '{"reward": null}',
     '<think>{"reward": 1}', '{"reward": 1} and more', '{"reward": 2}'],
)  # fmt: skip
def test_simulated_report_without_a_reward_is_unreadable(reply):
    with pytest.raises(UnreadableAnswer):
        TEST_REPORT.read(reply, [1])


def test_simulated_report_is_quoted_on_one_line():
    reply = '<think>…</think>{"test_report": "test_half\\n  fails", "reward": 0}'
    assert quote_test_report(reply) == "test_half fails"


@pytest.mark.parametrize(
    ("reply", "seats"),
    [
        ("B is better. [[B]]", {2}),
        ("First [[B]], no: [[A]]", {1}),
        ("[[A]] … \\boxed{2}", {2}),
        ("\\boxed{}", set()),
        ("\\boxed{1, 2}", {1, 2}),
    ],
)
def test_choice_is_the_last_letter_unless_there_is_a_box(reply, seats):
    assert CHOICE.is_answered(reply)
    assert CHOICE.read(reply, [1, 2]) == seats


@pytest.mark.parametrize("reply", ["[[C]]", "A", "[A]"])
def test_other_letters_are_no_choice(reply):
    with pytest.raises(UnreadableAnswer):
        CHOICE.read(reply, [1, 2])


def test_choice_of_an_empty_seat_is_unreadable():
    with pytest.raises(UnreadableAnswer):
        CHOICE.read("[[B]]", [1])


def test_letter_is_no_answer_in_a_box_form():
    assert not BOX.is_answered("[[A]]")
    assert TEST_REPORT.is_answered("anything")


@given(st.text(alphabet='{}[]"decisonrewa:1, \\\n', max_size=80))
def test_any_reply_is_read_or_unreadable(reply):
    for form in (REVIEW, TEST_REPORT, CHOICE):
        try:
            assert form.read(reply, [1]) <= {1}
        except UnreadableAnswer:
            continue
