"""Each outcome is about a head of the pull request, and follows a verdict or none."""

import pytest

from app.outcomes import EventKind, History, Snapshot, derive
from tests.builders.history.outcome_events import (
    BASE,
    HEAD,
    OTHER,
    PULL,
    START,
    build_event,
    build_merge,
    build_snapshot,
    proven,
)

TWICE_JUDGED = (
    build_snapshot(HEAD, day=1, evaluation=5),
    build_snapshot(OTHER, day=3, evaluation=6),
)


def list_heads(*events, snapshots=TWICE_JUDGED):
    """Head and verdict of what is derived, oldest first."""
    found = derive(History(PULL, events, tuple(snapshots)))
    return [(outcome.head, outcome.evaluation) for outcome in found]


@pytest.mark.parametrize(
    ("evaluation", "head"), [(5, HEAD), (6, OTHER)], ids=["the first", "the second"]
)
@pytest.mark.parametrize("kind", [EventKind.AGREED, EventKind.REACTION])
def test_an_opinion_on_a_verdict_is_about_the_judged_head(kind, evaluation, head):
    said = build_event(
        kind, 4, head=None, evaluation=evaluation, permission="write", state="+1", about="1"
    )
    assert list_heads(said) == [(head, evaluation)]


def test_an_opinion_that_names_a_head_is_about_that_head():
    assert list_heads(build_event(EventKind.AGREED, 4, head=BASE, evaluation=5)) == [(BASE, 5)]


@pytest.mark.parametrize(("day", "evaluation"), [(0, None), (1, 5), (2, 5), (3, 6), (9, 6)])
def test_an_outcome_names_the_last_verdict_before_it(day, evaluation):
    ci = build_event(EventKind.CI_CONCLUDED, day, pull=None, state="success")
    assert list_heads(ci) == [(HEAD, evaluation)]


def test_a_verdict_that_was_never_public_led_to_nothing():
    hidden = Snapshot(HEAD, BASE, "p", START, 7, None)
    assert list_heads(build_merge(9), snapshots=[hidden]) == [(HEAD, None)]


@pytest.mark.parametrize("kind", [EventKind.REVERTED, EventKind.ISSUE_REOPENED])
@pytest.mark.parametrize("head", [None, BASE], ids=["no commit", "the commit that did it"])
def test_a_revert_is_about_the_merged_head(kind, head):
    event = build_event(kind, 5, head=head)
    answers = [proven(event)] if kind == EventKind.REVERTED else []
    assert list_heads(build_merge(4, head=OTHER), event, *answers) == [(OTHER, 6)] * 2
