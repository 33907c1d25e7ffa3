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


def build_asked(permission=READ, *, refused=False, others=True, locked=False):
    return Asked(permission, refused, others, locked)


@pytest.mark.parametrize(
    ("history", "question", "plan"),
    [
        (AnswerHistory(2), build_asked(), ANSWER),
        (AnswerHistory(3), build_asked(), AnswerPlan(False, False, Silence.CAPPED)),
        (AnswerHistory(3), build_asked(Permission.NONE), AnswerPlan(False, False, Silence.CAPPED)),
        (AnswerHistory(99), build_asked(TRIAGE), ANSWER),
        (AnswerHistory(), build_asked(refused=True, others=False), REFUSE),
        (AnswerHistory(), build_asked(refused=True), AnswerPlan(True, True)),
        (AnswerHistory(1, was_refused=True), build_asked(refused=True), ANSWER),
        (
            AnswerHistory(1, was_refused=True),
            build_asked(TRIAGE, refused=True, others=False),
            AnswerPlan(False, False, Silence.TOLD),
        ),
        (
            AnswerHistory(),
            build_asked(TRIAGE, locked=True),
            AnswerPlan(True, False, Silence.LOCKED),
        ),
    ],
)
def test_plan_answer(history, question, plan):
    assert plan_answer(history, question) == plan
