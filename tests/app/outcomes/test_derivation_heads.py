"""Each outcome is about a head of the pull request, and follows a verdict or none."""

import pytest

from app.outcomes import EventKind, History, Snapshot, derive
from tests.builders.outcome_events import BASE, HEAD, OTHER, PULL, START, happened, judged, merged

TWICE_JUDGED = (judged(HEAD, day=1, evaluation=5), judged(OTHER, day=3, evaluation=6))


def placed(*events, snapshots=TWICE_JUDGED):
    """Head and verdict of what is derived, oldest first."""
    found = derive(History(PULL, events, tuple(snapshots)))
    return [(outcome.head, outcome.evaluation) for outcome in found]


@pytest.mark.parametrize(
    ("evaluation", "head"), [(5, HEAD), (6, OTHER)], ids=["the first", "the second"]
)
@pytest.mark.parametrize("kind", [EventKind.AGREED, EventKind.REACTION])
def test_who_speaks_of_a_verdict_speaks_of_the_head_it_judged(kind, evaluation, head):
    said = happened(
        kind, 4, head=None, evaluation=evaluation, permission="write", state="+1", about="1"
    )
    assert placed(said) == [(head, evaluation)]


def test_who_names_a_head_speaks_of_that_one():
    assert placed(happened(EventKind.AGREED, 4, head=BASE, evaluation=5)) == [(BASE, 5)]


@pytest.mark.parametrize(("day", "evaluation"), [(0, None), (1, 5), (2, 5), (3, 6), (9, 6)])
def test_what_follows_a_verdict_says_which_was_the_last(day, evaluation):
    ci = happened(EventKind.CI_CONCLUDED, day, pull=None, state="success")
    assert placed(ci) == [(HEAD, evaluation)]


def test_a_verdict_that_was_never_public_led_to_nothing():
    hidden = Snapshot(HEAD, BASE, "p", START, 7, None)
    assert placed(merged(9), snapshots=[hidden]) == [(HEAD, None)]


@pytest.mark.parametrize("kind", [EventKind.REVERTED, EventKind.ISSUE_REOPENED])
@pytest.mark.parametrize("head", [None, BASE], ids=["no commit", "the commit that did it"])
def test_what_takes_a_merge_back_is_about_the_merged_head(kind, head):
    assert placed(merged(4, head=OTHER), happened(kind, 5, head=head)) == [(OTHER, 6)] * 2
