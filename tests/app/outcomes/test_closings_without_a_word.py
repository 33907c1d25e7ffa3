"""Closings that say nothing about the patch: by a gate bot, under GitHub's cap, or of spam."""

import pytest

from app.outcomes import EventKind
from tests.builders.history.outcome_events import build_close, build_event, outcomes


def test_a_bot_that_closes_within_an_hour_keeps_a_gate():
    for age, reason in ((3_600, "closed_by_gate"), (3_601, "closed_by_bot")):
        closing = build_close(permission="app", age_seconds=age)
        assert outcomes(closing) == [("closed", reason)]


def test_an_author_who_opens_another_one_within_an_hour_made_room_under_the_cap():
    closing = build_close(0, by_author=True)
    for day, reason in ((1 / 24, "closed_for_quota"), (1.1 / 24, "closed_by_author")):
        opening = build_event(EventKind.PULL_OPENED, day, pull=13)
        assert outcomes(closing, openings=[opening]) == [("closed", reason)]
    before = build_event(EventKind.PULL_OPENED, -0.01, pull=13)
    assert outcomes(closing, openings=[before]) == [("closed", "closed_by_author")]


@pytest.mark.parametrize(
    ("why", "reason"), [("spam", "hidden"), ("resolved", "closed_by_maintainer")]
)
def test_a_pull_request_locked_as_spam_is_hidden(why, reason):
    lock = build_event(EventKind.PULL_LOCKED, 1, state=why)
    assert outcomes(build_close(permission="maintain"), lock) == [("closed", reason)]
