"""Whose permission is asked for: of people whose act weighs by who they are."""

from datetime import UTC, datetime

import pytest

from app.identifiers import InstallationId, RepositoryId, RepositoryRef
from app.jobs import Planned, ResolvePermission
from app.outcomes import EventKind, OutcomeEvent
from worker.record import ask_permissions

HERE = RepositoryRef(InstallationId(5), RepositoryId(7), "octo/cat")
AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize("kind", [EventKind.REVERTED, EventKind.ISSUE_REOPENED])
def test_who_takes_a_fix_back_is_asked_about(kind):
    event = OutcomeEvent(kind=kind, source="x", occurred_at=AT, actor="mona", actor_id=1)
    assert ask_permissions(HERE, [event]) == [Planned(ResolvePermission(5, 7, "mona"))]


def test_who_pushes_is_not():
    event = OutcomeEvent(EventKind.LANDED, source="x", occurred_at=AT, actor="mona", actor_id=1)
    assert ask_permissions(HERE, [event]) == []
