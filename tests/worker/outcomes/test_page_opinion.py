"""An opinion from a page is recorded as that of a comment would be, if GitHub confirms the permission."""

import itertools
from functools import partial

import pytest
from sqlalchemy import select

from app.db.session import transaction
from app.db.tables.schema import outcome_events
from app.jobs.outcome_jobs import RecordOpinion
from app.outcomes import EventKind
from tests.builders.github.local_github import connect
from tests.worker.outcomes.judged_repository import JudgedRepository
from worker.commands.page_opinion import build_event, record_opinion

pytestmark = pytest.mark.services
NUMBERS = itertools.count(1)


@pytest.fixture
def world(standin, database):
    return JudgedRepository(standin, database, f"opinions-{next(NUMBERS)}")


@pytest.fixture
def github(world):
    with connect(world.standin.url, app_id=world.app.app_id, key=world.app.private_key) as client:
        yield client


@pytest.mark.parametrize(("login", "recorded"), [("maintainer", 1), ("passer-by", 0)])
def test_only_people_with_write_access_are_recorded(world, github, login, recorded):
    place = (world.installation, world.id, world.issue)
    job = RecordOpinion(*place, "f" * 32, "", True, "", 5, login, "2026-11-23T09:00:00+00:00")
    for _ in range(2):
        world.do(partial(record_opinion, github), job)
    with transaction(world.database) as connection:
        kinds = connection.scalars(
            select(outcome_events.c.kind).where(outcome_events.c.source == f"page:{job.name}")
        ).all()
    assert kinds == [EventKind.AGREED] * recorded


@pytest.mark.parametrize(
    ("about", "is_right", "kind"),
    [
        ("#12", True, EventKind.AGREED),
        ("", False, EventKind.DISAGREED),
        ("A1", True, EventKind.ALTERNATIVE_AGREED),
        ("A1", False, EventKind.ALTERNATIVE_DISAGREED),
    ],
)
def test_an_opinion_is_the_event_of_the_command(about, is_right, kind):
    job = RecordOpinion(
        7, 70, 3, "f" * 32, about, is_right, "why", 5, "mona", "2026-11-23T09:00:00+00:00"
    )
    event = build_event(job)
    assert (event.kind, event.issue, event.actor, event.actor_id) == (kind, 3, "mona", 5)
    assert event.pull == (12 if about == "#12" else None)
    assert event.details.about == ("A1" if about == "A1" else None)
    assert event.details.state == "why"
