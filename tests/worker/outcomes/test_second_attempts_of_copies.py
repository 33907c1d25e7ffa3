"""A failing check or a review of a pull request that copies an alternative leaves a hint."""

from datetime import UTC, datetime

import pytest

from app.db.store.alternatives import drafts
from app.db.store.alternatives.drafts import DraftRequest
from app.db.store.alternatives.hints import Hint
from app.db.store.outcomes import outcome_events
from app.events import CheckAction, ReviewAction
from app.github.api.rest_reader import ReviewComment
from app.outcomes import EventKind, OutcomeEvent
from model.agents.trajectories.guidance import HintSource
from tests.builders.github.webhook_payloads import build_check_event, build_review_event
from tests.builders.history import stored_verdict
from tests.worker.outcomes.judged_alternatives import list_due_hints
from worker.outcomes import second_attempts

pytestmark = pytest.mark.services


COPIED = stored_verdict.head_of(stored_verdict.FIRST)[::-1]
"""The head of a pull request that copies the second alternative."""
OUTPUT = "sums.py:3: KeyError"


def collect_copy(connection, evaluation):
    diff = evaluation.alternatives[1].diff
    stored_verdict.collect(connection, stored_verdict.FIRST, COPIED, diff)


def build_hint(evaluation, source, words, author):
    return Hint(evaluation.alternatives[1].attempt, source, words, author)


def build_failed_check(head=COPIED, **changes):
    failure = {"name": "tests", "head": head, "conclusion": "failure", "output": OUTPUT}
    return build_check_event(**failure | changes)


def test_a_failing_check_of_a_copy_is_a_hint_about_what_was_copied(connection, judge_alternatives):
    evaluation = judge_alternatives("alternatives: off")
    collect_copy(connection, evaluation)
    assert second_attempts.leave_hints_of_check(connection, build_failed_check()) == (
        stored_verdict.ISSUE,
    )
    hint = build_hint(evaluation, HintSource.CHECK, OUTPUT, "tests")
    assert list_due_hints(connection, evaluation) == (hint,)
    assert second_attempts.leave_hints_of_check(connection, build_failed_check()) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"conclusion": "success"},
        {"conclusion": "cancelled"},
        {"output": ""},
        {"is_suite": True},
        {"action": CheckAction.REREQUESTED},
    ],
)
def test_a_check_of_a_copy_without_a_failure_or_output_leaves_no_hint(
    connection, judge_alternatives, change
):
    evaluation = judge_alternatives()
    collect_copy(connection, evaluation)
    assert second_attempts.leave_hints_of_check(connection, build_failed_check(**change)) == ()


def test_a_failing_check_of_another_edit_leaves_no_hint(connection, judge_alternatives):
    judge_alternatives()
    failure = build_failed_check(stored_verdict.head_of(stored_verdict.FIRST))
    assert second_attempts.leave_hints_of_check(connection, failure) == ()


def build_critical_review(commit=COPIED, **changes):
    words = {"state": "changes_requested", "body": "It drops `None`."}
    return build_review_event(commit=commit, **words | changes)


def test_a_review_that_asks_for_changes_to_a_copy_is_a_hint(connection, judge_alternatives):
    evaluation = judge_alternatives("alternatives: off")
    collect_copy(connection, evaluation)
    asks = build_critical_review()
    assert second_attempts.is_about_alternative(connection, asks)
    assert second_attempts.leave_hints_of_review(connection, asks, ()) == (stored_verdict.ISSUE,)
    hint = build_hint(evaluation, HintSource.MAINTAINER, "It drops `None`.", "mona")
    assert list_due_hints(connection, evaluation) == (hint,)


@pytest.mark.parametrize(
    "change",
    [{"state": "commented"}, {"commit": None}, {"action": ReviewAction.DISMISSED}],
)
def test_a_review_of_a_copy_without_a_request_leaves_no_hint(
    connection, judge_alternatives, change
):
    evaluation = judge_alternatives()
    collect_copy(connection, evaluation)
    says = build_critical_review(**change)
    assert not second_attempts.is_about_alternative(connection, says)
    assert second_attempts.leave_hints_of_review(connection, says, ()) == ()


def test_a_review_without_words_leaves_a_hint_only_by_its_lines(connection, judge_alternatives):
    evaluation = judge_alternatives()
    collect_copy(connection, evaluation)
    silent = build_critical_review(body=" ")
    for words, issues in ((" ", ()), ("It drops `None`.", (stored_verdict.ISSUE,))):
        lines = [ReviewComment("a.py", words)]
        assert second_attempts.leave_hints_of_review(connection, silent, lines) == issues
    hint = build_hint(evaluation, HintSource.MAINTAINER, "a.py: It drops `None`.", "mona")
    assert list_due_hints(connection, evaluation) == (hint,)


@pytest.mark.parametrize("moved", [False, True])
def test_the_bots_own_draft_is_a_copy_until_a_person_pushes_to_it(
    connection, judge_alternatives, moved
):
    evaluation = judge_alternatives("alternatives: off")
    second = evaluation.alternatives[1].attempt
    asked = DraftRequest("900", stored_verdict.ISSUE, "mona")
    draft = drafts.request_draft(connection, stored_verdict.REPOSITORY, second, asked)
    drafts.save(connection, draft.id, stored_verdict.SECOND)
    if moved:
        now = datetime.now(UTC)
        push = OutcomeEvent(EventKind.HEAD_MOVED, "push", now, pull=stored_verdict.SECOND)
        outcome_events.append(connection, stored_verdict.REPOSITORY, [push])
    asks = build_critical_review(
        stored_verdict.head_of(stored_verdict.SECOND), number=stored_verdict.SECOND
    )
    assert second_attempts.is_about_alternative(connection, asks) is not moved
    expected = () if moved else (stored_verdict.ISSUE,)
    assert second_attempts.leave_hints_of_review(connection, asks, ()) == expected
