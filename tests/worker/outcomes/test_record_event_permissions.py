"""Whose permission is asked for: of people whose act weighs by who they are."""

from datetime import UTC, datetime

import pytest

from app.jobs.job import Planned
from app.jobs.outcome_jobs import ResolvePermission
from app.outcomes import EventKind, OutcomeEvent
from app.values.identifiers import InstallationId, RepositoryId, RepositoryRef
from worker.outcomes.record_event import plan_permission_jobs

HERE = RepositoryRef(InstallationId(5), RepositoryId(7), "octo/cat")
AT = datetime(2026, 3, 1, tzinfo=UTC)


def act(kind, **fields):
    return OutcomeEvent(kind, "x", AT, **{"actor": "mona", "actor_id": 1} | fields)


@pytest.mark.parametrize("kind", [EventKind.REVERTED, EventKind.ISSUE_REOPENED])
def test_the_permission_behind_a_revert_is_asked_for(kind):
    assert plan_permission_jobs(HERE, [act(kind)]) == [Planned(ResolvePermission(5, 7, "mona"))]


@pytest.mark.parametrize(
    "kind", [EventKind.HEAD_MOVED, EventKind.ISSUE_CLOSED, EventKind.REVIEW_DISMISSED]
)
def test_permissions_are_asked_for_once_there_is_a_verdict(kind):
    assert plan_permission_jobs(HERE, [act(kind)]) == []
    answers = [act(kind, evaluation=9), act(kind, evaluation=9)]
    assert plan_permission_jobs(HERE, answers) == [Planned(ResolvePermission(5, 7, "mona"))]


@pytest.mark.parametrize(
    "fields",
    [{"permission": "app"}, {"permission": "read"}, {"actor": None}, {"actor": "ghost"}],
    ids=["an App", "known", "nobody", "an account that was deleted"],
)
def test_a_known_or_missing_actor_needs_no_permission_job(fields):
    assert plan_permission_jobs(HERE, [act(EventKind.PULL_MERGED, evaluation=9, **fields)]) == []
