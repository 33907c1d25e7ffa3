"""What somebody might do at the time, asked once and not of yesterday."""

from datetime import timedelta

import pytest

from app.db.store.outcomes import outcome_permissions, outcomes
from app.db.store.outcomes.outcome_permissions import PermissionAnswer
from app.outcomes import EventKind
from tests.builders.history import stored_outcomes
from tests.builders.history.outcome_rows import (
    AFTER,
    OTHER,
    build_close,
    build_event,
    list_outcomes,
    record,
)
from tests.builders.history.stored_verdict import FIRST, REPOSITORY, SECOND

pytestmark = pytest.mark.services


MIA = (REPOSITORY, "mia")


def test_a_permission_is_filled_in_once(connection, group):
    record(connection, build_event(EventKind.DISAGREED, FIRST, actor="mia", actor_id=1))
    now = AFTER + timedelta(hours=2)
    assert outcome_permissions.is_wanted(connection, *MIA, now)
    touched = outcome_permissions.fill_in(connection, *MIA, PermissionAnswer("read", now))
    outcomes.rederive(connection, REPOSITORY, touched)
    assert list_outcomes(connection, group) == []
    assert not outcome_permissions.is_wanted(connection, *MIA, now)
    assert outcome_permissions.fill_in(connection, *MIA, PermissionAnswer("admin", now)) == []


def test_an_old_event_keeps_an_unknown_permission(connection, group):
    record(connection, build_event(EventKind.HEAD_MOVED, FIRST, 1, head=OTHER, actor="mia"))
    record(connection, build_close(FIRST, hours=40, actor="mia"))
    asked_at = AFTER + timedelta(hours=41)
    touched = outcome_permissions.fill_in(connection, *MIA, PermissionAnswer("write", asked_at))
    outcomes.rederive(connection, REPOSITORY, touched)
    rows = stored_outcomes.list_rows(connection, group)
    assert [(row.permission, row.permission_asked_at) for row in rows] == [
        (None, None),
        ("write", asked_at),
    ]
    assert rows[1].as_json()["permission_asked_at"] == asked_at.isoformat()
    assert not outcome_permissions.is_wanted(connection, *MIA, asked_at)


def test_an_answer_holds_for_a_few_minutes_and_for_one_person(connection, group):
    now = AFTER + timedelta(hours=2)
    assert outcome_permissions.find_recent_answer(connection, *MIA, now) is None
    record(connection, build_close(FIRST, actor="mia"), build_close(SECOND, actor="noor"))
    answer = PermissionAnswer("triage", now)
    outcome_permissions.fill_in(connection, *MIA, answer)
    soon, later = now + timedelta(minutes=4), now + timedelta(minutes=6)
    assert outcome_permissions.find_recent_answer(connection, *MIA, soon) == answer
    assert outcome_permissions.find_recent_answer(connection, *MIA, later) is None
    assert outcome_permissions.find_recent_answer(connection, REPOSITORY, "noor", soon) is None
