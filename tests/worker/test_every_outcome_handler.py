"""What follows a verdict, run twice and again after dying at each commit, leaves what one run leaves."""

from functools import partial
from itertools import count

import pytest
from sqlalchemy import select

from app.db.session import transaction
from app.db.tables.schema import outcome_events
from app.jobs.outcome_jobs import PollReactions, ResolvePermission
from tests.builders.history import stored_outcomes
from tests.builders.job_attempts import waiting
from tests.worker.outcomes.judged_repository import JudgedRepository
from worker.outcomes.observe_outcomes import (
    measure_survival,
    poll_reactions,
    resolve_permission,
)

pytestmark = pytest.mark.services

NUMBERS = count(1)


@pytest.fixture
def create_repository(standin, app, database):
    """Makes worlds whose verdict is public, on which people then act."""
    return lambda: JudgedRepository(standin, database, f"judged-{next(NUMBERS)}", app)


def list_outcomes(database):
    """What became of the rivals, without their numbers."""
    with transaction(database) as connection:
        rows = stored_outcomes.list_rows(connection, 1)
    return [(row.kind.value, row.permission, row.value) for row in rows]


def test_a_permission_is_written_on_what_waits_for_it(twice, scene, create_repository):
    def arrange(_database):
        world = create_repository()
        world.repo.close(world.first.number, user="maintainer")
        world.record()
        return world.resolve("maintainer")

    left = twice(partial(resolve_permission, scene.github), arrange, list_outcomes)
    assert left == [("closed", "maintain", None)]


def test_a_thumb_is_recorded_once(twice, scene, create_repository):
    def arrange(_database):
        world = create_repository()
        world.repo.react(world.comment, "+1", "maintainer")
        return PollReactions(world.installation, world.id, world.issue)

    def observe(database):
        with transaction(database) as connection:
            kinds = list(
                connection.scalars(select(outcome_events.c.kind).order_by(outcome_events.c.id))
            )
        jobs = waiting(database)
        return kinds, [job.actor for job in jobs if isinstance(job, ResolvePermission)]

    left = twice(partial(poll_reactions, scene.github), arrange, observe)
    assert left == (["pull_opened", "pull_opened", "reaction"], ["maintainer"])


def test_survival_is_measured_once(twice, scene, create_repository):
    def arrange(_database):
        world = create_repository()
        world.repo.merge(world.first.number, user="maintainer")
        world.record()
        return world.measure_survival(world.first.number)

    left = twice(partial(measure_survival, scene.github, scene.checkouts), arrange, list_outcomes)
    assert left == [("merged", None, None), ("survival", None, 1.0)]
