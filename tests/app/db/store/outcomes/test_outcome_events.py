"""Opinions and thumbs: about which verdict, and which heads."""

from dataclasses import replace

import pytest
from sqlalchemy import select

from app.db.store.issues import groups
from app.db.store.outcomes import outcome_events
from app.db.tables.schema import outcome_events as event_table
from app.outcomes import EventKind
from app.values.identifiers import IssueNumber
from tests.builders.history.outcome_rows import (
    OTHER,
    build_event,
    evaluation_of,
    list_outcomes,
    list_places,
    record,
)
from tests.builders.history.stored_verdict import (
    FIRST,
    ISSUE,
    LATE,
    REPOSITORY,
    SECOND,
    head_of,
    judge,
)

pytestmark = pytest.mark.services


def test_an_opinion_on_the_issue_is_about_the_pull_requests_judged_in_that_verdict(
    connection, group
):
    record(connection, build_event(EventKind.AGREED, issue=ISSUE, actor_id=1, state="tried it"))
    assert list_outcomes(connection, group) == [
        (FIRST, "agree", "tried it"),
        (SECOND, "agree", "tried it"),
    ]
    verdict = evaluation_of(connection, FIRST)
    assert list_places(connection, group) == [
        (pull, head_of(pull), verdict) for pull in (FIRST, SECOND)
    ]
    ((raw, head),) = connection.execute(select(event_table.c.evaluation_id, event_table.c.head_sha))
    assert (raw, head) == (verdict, None)


def test_an_opinion_before_there_was_a_verdict_is_about_nothing(connection, group):
    for pull in (None, FIRST):
        early = build_event(EventKind.AGREED, pull, hours=-9, issue=ISSUE, actor_id=1)
        record(connection, early)
    assert list_outcomes(connection, group) == []


def test_an_opinion_keeps_to_the_heads_that_were_judged_when_it_was_given(connection, group):
    first = evaluation_of(connection, FIRST)
    judge(connection, group, (FIRST, LATE), heads={FIRST: OTHER}, days=1)
    second = evaluation_of(connection, LATE)
    for hours, person in ((1, 1), (25, 2)):
        said = {"issue": ISSUE, "actor_id": person, "hours": hours}
        record(connection, build_event(EventKind.DISAGREED, **said))
    assert list_places(connection, group) == [
        (FIRST, head_of(FIRST), first),
        (SECOND, head_of(SECOND), first),
        (FIRST, OTHER, second),
        (LATE, head_of(LATE), second),
    ]


def test_an_opinion_on_one_pull_request_is_about_the_verdict_on_that_issue(connection, group):
    here = evaluation_of(connection, FIRST)
    text = ("Another crash", "On full")
    elsewhere = groups.upsert_group(connection, REPOSITORY, IssueNumber(4), text, "open")
    groups.save_links(connection, elsewhere, [(FIRST, "closes")])
    judge(connection, elsewhere, (FIRST,), heads={FIRST: OTHER}, days=0.01)
    record(connection, build_event(EventKind.AGREED, FIRST, issue=ISSUE, actor_id=1))
    assert list_places(connection, group) == [(FIRST, head_of(FIRST), here)]


def test_a_reaction_taken_back_is_no_longer_shown(connection, group):
    thumb = {"issue": ISSUE, "about": "900", "state": "+1", "actor_id": 1, "permission": "write"}
    record(connection, build_event(EventKind.REACTION, hours=1, **thumb))
    assert len(outcome_events.list_shown_reactions(connection, REPOSITORY, ISSUE)) == 1
    assert list_outcomes(connection, group)[0] == (FIRST, "reaction", "+1")
    record(connection, build_event(EventKind.REACTION, hours=2, gone=True, **thumb))
    assert outcome_events.list_shown_reactions(connection, REPOSITORY, ISSUE) == ()
    assert list_outcomes(connection, group) == []


def test_a_thumb_taken_back_after_a_later_verdict_is_gone_from_the_one_it_was_given_to(
    connection, group
):
    thumb = {"issue": ISSUE, "about": "900", "state": "+1", "actor_id": 1, "permission": "write"}
    record(connection, build_event(EventKind.REACTION, hours=1, **thumb))
    judge(connection, group, (LATE,), days=1)
    (shown,) = outcome_events.list_shown_reactions(connection, REPOSITORY, ISSUE)
    taken = replace(
        build_event(EventKind.REACTION, hours=30, gone=True, **thumb), evaluation=shown.evaluation
    )
    record(connection, taken)
    assert list_outcomes(connection, group) == []
