"""Below triage: three answers an hour, and each refusal once."""

import pytest

from app.policy.answer_policy import (
    AnswerHistory,
    AnswerPlan,
    CommandRequest,
    SilenceReason,
    plan_answer,
)
from app.values.permission import Permission

READ, TRIAGE = Permission.READ, Permission.TRIAGE
ANSWER = AnswerPlan(carries_out=True, tells_refusal=False)
REFUSE = AnswerPlan(carries_out=False, tells_refusal=True)


def build_request(permission=READ, *, refused=False, others=True, locked=False):
    return CommandRequest(permission, refused, others, locked)


@pytest.mark.parametrize(
    ("history", "question", "plan"),
    [
        (AnswerHistory(2), build_request(), ANSWER),
        (AnswerHistory(3), build_request(), AnswerPlan(False, False, SilenceReason.CAPPED)),
        (
            AnswerHistory(3),
            build_request(Permission.NONE),
            AnswerPlan(False, False, SilenceReason.CAPPED),
        ),
        (AnswerHistory(99), build_request(TRIAGE), ANSWER),
        (AnswerHistory(), build_request(refused=True, others=False), REFUSE),
        (AnswerHistory(), build_request(refused=True), AnswerPlan(True, True)),
        (AnswerHistory(1, was_refused=True), build_request(refused=True), ANSWER),
        (
            AnswerHistory(1, was_refused=True),
            build_request(TRIAGE, refused=True, others=False),
            AnswerPlan(False, False, SilenceReason.ALREADY_REFUSED),
        ),
        (
            AnswerHistory(),
            build_request(TRIAGE, locked=True),
            AnswerPlan(True, False, SilenceReason.LOCKED),
        ),
    ],
)
def test_plan_answer(history, question, plan):
    assert plan_answer(history, question) == plan
