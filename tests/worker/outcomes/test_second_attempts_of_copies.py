"""A failing check or a review of a pull request that copies an alternative leaves a hint."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.db.store.alternatives import drafts
from app.db.store.alternatives.drafts import DraftRequest
from app.db.store.alternatives.hints import Hint
from app.db.store.outcomes import outcome_events
from app.events import Actor, CheckAction, CheckEvent, ReviewAction, ReviewEvent
from app.github.api.rest_reader import ReviewComment
from app.outcomes import EventKind, OutcomeEvent
from app.values.identifiers import RepositoryRef
from model.agents.trajectories.guidance import HintSource
from tests.builders import stored_verdict
from tests.worker.outcomes.judged_alternatives import list_due_hints
from worker.outcomes import second_attempts

pytestmark = pytest.mark.services


def check(head, **changes):
    event = CheckEvent(
        delivery="guid",
        repository=RepositoryRef(
            stored_verdict.INSTALLATION, stored_verdict.REPOSITORY, "octo/cat"
        ),
        sender=Actor(9, "ci[bot]", is_bot=True),
        action=CheckAction.COMPLETED,
        is_suite=False,
        id=600,
        name="tests",
        head=head,
        conclusion="failure",
        app_id=4,
        app_slug="ci",
        pulls=(),
        external_id="",
        button=None,
        occurred_at=None,
        output="sums.py:3: KeyError",
    )
    return replace(event, **changes)


def test_a_failing_check_of_a_copy_is_a_hint_about_what_was_copied(connection, judged):
    evaluation = judged("alternatives: off")
    copied = stored_verdict.head_of(stored_verdict.FIRST)[::-1]
    stored_verdict.collect(
        connection, stored_verdict.FIRST, copied, evaluation.alternatives[1].diff
    )
    assert second_attempts.leave_hints_of_check(connection, check(copied)) == (
        stored_verdict.ISSUE,
    )
    second = evaluation.alternatives[1].attempt
    assert list_due_hints(connection, evaluation) == (
        Hint(second, HintSource.CHECK, "sums.py:3: KeyError", "tests"),
    )
    assert second_attempts.leave_hints_of_check(connection, check(copied)) == ()


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
def test_other_checks_of_a_copy_say_nothing(connection, judged, change):
    evaluation = judged()
    copied = stored_verdict.head_of(stored_verdict.FIRST)[::-1]
    stored_verdict.collect(
        connection, stored_verdict.FIRST, copied, evaluation.alternatives[1].diff
    )
    assert second_attempts.leave_hints_of_check(connection, check(copied, **change)) == ()


def test_a_failing_check_of_another_edit_says_nothing_of_ours(connection, judged):
    judged()
    assert (
        second_attempts.leave_hints_of_check(
            connection, check(stored_verdict.head_of(stored_verdict.FIRST))
        )
        == ()
    )


def review(head, **changes):
    event = ReviewEvent(
        delivery="guid",
        repository=RepositoryRef(
            stored_verdict.INSTALLATION, stored_verdict.REPOSITORY, "octo/cat"
        ),
        sender=Actor(1, "mona", is_bot=False),
        action=ReviewAction.SUBMITTED,
        number=stored_verdict.FIRST,
        review=800,
        state="changes_requested",
        body="It drops `None`.",
        author=Actor(1, "mona", is_bot=False),
        commit=head,
        occurred_at=None,
    )
    return replace(event, **changes)


def test_a_review_that_asks_for_changes_to_a_copy_is_a_hint(connection, judged):
    evaluation = judged("alternatives: off")
    copied = stored_verdict.head_of(stored_verdict.FIRST)[::-1]
    stored_verdict.collect(
        connection, stored_verdict.FIRST, copied, evaluation.alternatives[1].diff
    )
    asks = review(copied)
    assert second_attempts.concerns_alternative(connection, asks)
    assert second_attempts.leave_hints_of_review(connection, asks, ()) == (stored_verdict.ISSUE,)
    second = evaluation.alternatives[1].attempt
    assert list_due_hints(connection, evaluation) == (
        Hint(second, HintSource.MAINTAINER, "It drops `None`.", "mona"),
    )


@pytest.mark.parametrize(
    "change",
    [{"state": "commented"}, {"commit": None}, {"action": ReviewAction.DISMISSED}],
)
def test_other_reviews_of_a_copy_say_nothing(connection, judged, change):
    evaluation = judged()
    copied = stored_verdict.head_of(stored_verdict.FIRST)[::-1]
    stored_verdict.collect(
        connection, stored_verdict.FIRST, copied, evaluation.alternatives[1].diff
    )
    says = review(copied, **change)
    assert not second_attempts.concerns_alternative(connection, says)
    assert second_attempts.leave_hints_of_review(connection, says, ()) == ()


def test_a_review_without_words_says_nothing_unless_its_lines_do(connection, judged):
    evaluation = judged()
    copied = stored_verdict.head_of(stored_verdict.FIRST)[::-1]
    stored_verdict.collect(
        connection, stored_verdict.FIRST, copied, evaluation.alternatives[1].diff
    )
    silent = review(copied, body=" ")
    assert (
        second_attempts.leave_hints_of_review(connection, silent, [ReviewComment("a.py", " ")])
        == ()
    )
    said = [ReviewComment("a.py", "It drops `None`.")]
    assert second_attempts.leave_hints_of_review(connection, silent, said) == (
        stored_verdict.ISSUE,
    )
    second = evaluation.alternatives[1].attempt
    (hint,) = list_due_hints(connection, evaluation)
    assert hint == Hint(second, HintSource.MAINTAINER, "a.py: It drops `None`.", "mona")


@pytest.mark.parametrize("moved", [False, True])
def test_our_own_draft_is_a_copy_until_somebody_pushes_to_it(connection, judged, moved):
    evaluation = judged("alternatives: off")
    second = evaluation.alternatives[1].attempt
    asked = DraftRequest("900", stored_verdict.ISSUE, "mona")
    draft = drafts.request_draft(connection, stored_verdict.REPOSITORY, second, asked)
    drafts.save(connection, draft.id, stored_verdict.SECOND)
    if moved:
        push = OutcomeEvent(
            kind=EventKind.HEAD_MOVED,
            source="push",
            occurred_at=datetime.now(UTC),
            pull=stored_verdict.SECOND,
        )
        outcome_events.append(connection, stored_verdict.REPOSITORY, [push])
    asks = review(stored_verdict.head_of(stored_verdict.SECOND), number=stored_verdict.SECOND)
    assert second_attempts.concerns_alternative(connection, asks) is not moved
    expected = () if moved else (stored_verdict.ISSUE,)
    assert second_attempts.leave_hints_of_review(connection, asks, ()) == expected
