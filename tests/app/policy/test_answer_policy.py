"""Below triage: three answers an hour, and each refusal once."""

import pytest

from app.policy.answer_policy import (
    AnswerHistory,
    AnswerPlan,
    Asked,
    Silence,
    plan_answer,
)
from app.values.permission import Permission

READ, TRIAGE = Permission.READ, Permission.TRIAGE
ANSWER = AnswerPlan(carries_out=True, tells_refusal=False)
REFUSE = AnswerPlan(carries_out=False, tells_refusal=True)


def asked(permission=READ, *, refused=False, others=True, locked=False):
    return Asked(permission, refused, others, locked)


@pytest.mark.parametrize(
    ("history", "question", "plan"),
    [
        (AnswerHistory(2), asked(), ANSWER),
        (AnswerHistory(3), asked(), AnswerPlan(False, False, Silence.CAPPED)),
        (AnswerHistory(3), asked(Permission.NONE), AnswerPlan(False, False, Silence.CAPPED)),
        (AnswerHistory(99), asked(TRIAGE), ANSWER),
        (AnswerHistory(), asked(refused=True, others=False), REFUSE),
        (AnswerHistory(), asked(refused=True), AnswerPlan(True, True)),
        (AnswerHistory(1, was_refused=True), asked(refused=True), ANSWER),
        (
            AnswerHistory(1, was_refused=True),
            asked(TRIAGE, refused=True, others=False),
            AnswerPlan(False, False, Silence.TOLD),
        ),
        (AnswerHistory(), asked(TRIAGE, locked=True), AnswerPlan(True, False, Silence.LOCKED)),
    ],
)
def test_plan_answer(history, question, plan):
    assert plan_answer(history, question) == plan
