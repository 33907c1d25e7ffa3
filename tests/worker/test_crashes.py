"""The check that handlers survive crashes must itself find handlers that don't."""

import pytest
from sqlalchemy import text

from app.jobs.job import Planned
from tests.builders.queue_rows import a_pull, an_issue, rows

pytestmark = pytest.mark.services

ONCE = "insert into ignored_deliveries values (:what, 1) on conflict do nothing"
ADDING = (
    "insert into ignored_deliveries values (:what, 1)"
    " on conflict (reason) do update set count = ignored_deliveries.count + 1"
)


def arrange(_database):
    return an_issue()


def observe(database):
    with database.connect() as connection:
        found = connection.execute(text("select reason, count from ignored_deliveries order by 1"))
        return [tuple(row) for row in found]


def writing(*statements):
    """A handler that commits each statement by itself."""

    def handle(context, _job):
        for number, statement in enumerate(statements):
            with context.transaction() as connection:
                connection.execute(text(statement), {"what": f"step {number}"})

    return handle


def test_a_handler_whose_steps_may_be_repeated_passes(twice):
    left = twice(writing(ONCE, ONCE, ONCE), arrange, observe)
    assert left == [("step 0", 1), ("step 1", 1), ("step 2", 1)]


@pytest.mark.parametrize("statements", [(ADDING,), (ONCE, ADDING), (ADDING, ONCE)])
def test_a_handler_that_counts_twice_is_found(twice, statements):
    with pytest.raises(AssertionError, match="second run"):
        twice(writing(*statements), arrange, observe)


def test_a_handler_that_trusts_its_first_commit_to_say_all_is_done_is_found(twice):
    def handle(context, _job):
        with context.transaction() as connection:
            fresh = connection.execute(text(ONCE), {"what": "claimed"}).rowcount
        if fresh:
            with context.transaction() as connection:
                connection.execute(text(ONCE), {"what": "done"})

    with pytest.raises(AssertionError, match="dying after commit 1"):
        twice(handle, arrange, observe)


def test_follow_up_jobs_are_not_doubled_by_running_twice(twice):
    def handle(context, _job):
        with context.transaction() as connection:
            context.enqueue(connection, [Planned(a_pull(4))])

    assert twice(handle, arrange, follow_ups) == ["locate_issues"]


def follow_ups(database):
    return [kind for kind, state in rows(database, "kind, state") if state == "ready"]
