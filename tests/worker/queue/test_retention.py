"""Old data goes, a month or a batch at a time, and nothing else goes with it."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from sqlalchemy import select, text, update
from sqlalchemy.exc import DBAPIError

from app.db.session import create_database_engine, transaction
from app.db.store.issues import retention, webhook_state
from app.db.store.issues.evaluations import Vote
from app.db.store.issues.votes import save
from app.db.store.outcomes import outcome_events as event_store
from app.db.store.outcomes import outcomes as outcome_store
from app.db.tables.schema import (
    candidates,
    deliveries,
    delivery_bodies,
    evaluation_candidates,
    evaluations,
    outcome_events,
    outcomes,
    patches,
    votes,
)
from app.settings import QueueSettings, RetentionSettings
from tests.app.db.store.outcomes.test_outcomes import build_merge
from tests.builders.history.stored_verdict import FIRST, REPOSITORY, SECOND, count, judge, settle
from tests.builders.queue_rows import insert_delivery
from worker.queue import upkeep as upkeep_module
from worker.queue.upkeep import Upkeep

pytestmark = pytest.mark.services
THIS_MONTH = datetime.now(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
MONTHS = sorted({(THIS_MONTH - timedelta(days=28 * back)).replace(day=1) for back in range(7)})
"""The first instants of this month and of at least five before it."""
INSTANT = timedelta(microseconds=1)


@pytest.fixture
def aged(services):
    """A database of its own in which the bot has run for months: it has their partitions."""
    with services.database() as url:
        database = create_database_engine(url)
        with database.begin() as connection:
            for first, after in pairwise(MONTHS):
                for table in retention.PARTITIONED:
                    part = f"{table}_{first:%Y_%m} partition of {table}"
                    span = f"from ('{first}') to ('{after}')"
                    connection.execute(text(f"create table {part} for values {span}"))
        yield database
        database.dispose()


def keep(database, doorbell, **settings):
    Upkeep(database, doorbell, QueueSettings(), {}, RetentionSettings(**settings)).retain()


def list_partitions(database, table):
    """The names of a table's partitions, sorted."""
    listed = (
        "select inhrelid::regclass::text from pg_inherits where inhparent = cast(:t as regclass)"
    )
    with database.connect() as connection:
        return sorted(connection.scalars(text(listed), {"t": table}))


def list_times(database, column):
    with database.connect() as connection:
        return list(connection.scalars(select(column).order_by(column)))


def test_upkeep_drops_whole_months_of_deliveries_and_nothing_else(aged, doorbell):
    moments = sorted(edge for month in MONTHS for edge in (month - INSTANT, month))
    with aged.begin() as connection:
        for moment in moments:
            row = {"guid": str(moment), "event": "push", "received_at": moment}
            insert_delivery(connection, b"{}", **row)
    before = list_partitions(aged, "delivery_bodies")
    keep(aged, doorbell, keep_deliveries_days="forever")
    assert list_times(aged, delivery_bodies.c.received_at) == moments
    assert list_partitions(aged, "delivery_bodies") == before

    keep(aged, doorbell, keep_deliveries_days=60)
    oldest = (datetime.now(UTC) - timedelta(days=60)).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    kept = [moment for moment in moments if moment >= oldest]
    assert 0 < len(kept) < len(moments)
    assert list_times(aged, delivery_bodies.c.received_at) == kept
    assert list_times(aged, deliveries.c.received_at) == kept
    dropped = {f"delivery_bodies_{month:%Y_%m}" for month in MONTHS if month < oldest}
    assert set(before) - set(list_partitions(aged, "delivery_bodies")) == dropped


def test_votes_go_by_the_month_and_the_verdict_keeps_its_counts(aged, doorbell):
    with transaction(aged) as connection:
        settle(connection)
        (evaluation,) = connection.scalars(select(evaluations.c.id))
        for number, month in enumerate(MONTHS):
            save(connection, evaluation, number, Vote(number, (), None, "reply"))
            placed = update(votes).where(votes.c.number == number).values(created_at=month)
            connection.execute(placed)
        connection.execute(update(evaluation_candidates).values(votes_correct=7))
    keep(aged, doorbell, keep_votes_days=8, keep_evaluations_days="forever")
    oldest = datetime.now(UTC) - timedelta(days=8 + 31)
    assert list_times(aged, votes.c.created_at)[0] > oldest
    assert list_times(aged, evaluation_candidates.c.votes_correct) == [7, 7]


def test_delivery_without_its_month_is_stored_and_moves_when_the_month_exists(aged, doorbell):
    month = f"delivery_bodies_{THIS_MONTH:%Y_%m}"
    placed = select(text("tableoid::regclass::text")).select_from(delivery_bodies)
    with aged.begin() as connection:
        connection.execute(text(f"drop table {month}"))
        insert_delivery(connection, b"kept", guid="g", event="push")
        assert connection.scalars(placed).all() == ["delivery_bodies_default"]
    keep(aged, doorbell)
    with aged.begin() as connection:
        assert connection.scalars(placed).all() == [month]
        assert webhook_state.load_delivery(connection, "g").body == b"kept"


@pytest.mark.parametrize("moment", ["2026-12-01T00:00:00Z", "2026-11-30T23:59:59.999999Z"])
def test_delivery_at_the_edge_of_a_month_is_stored_and_read(aged, moment):
    with aged.begin() as connection:
        insert_delivery(connection, b"kept", guid="g", event="push", received_at=moment)
        assert webhook_state.load_delivery(connection, "g").body == b"kept"


def test_maintenance_gives_up_soon_while_the_table_is_in_use(aged, doorbell, caplog):
    before = list_partitions(aged, "delivery_bodies")
    with aged.begin() as connection:
        connection.execute(select(delivery_bodies))
        keep(aged, doorbell)
    assert "the partitions of delivery_bodies were not maintained" in caplog.text
    assert list_partitions(aged, "delivery_bodies") == before
    keep(aged, doorbell)
    assert list_partitions(aged, "delivery_bodies") != before


@pytest.mark.parametrize("call", ["'votes', 7", "'jobs', 30"])
def test_maintenance_refuses_young_months_and_other_tables(aged, call):
    with pytest.raises(DBAPIError, match="can't be"), aged.begin() as connection:
        connection.execute(text(f"select maintain_partitions({call})"))


def test_old_evaluations_go_by_the_issue_with_patches_and_outcomes(aged, doorbell, monkeypatch):
    monkeypatch.setattr(upkeep_module, "ISSUES", 1)
    with transaction(aged) as connection:
        group = settle(connection)
        event_store.append(connection, REPOSITORY, [build_merge(FIRST)])
        outcome_store.rederive(connection, REPOSITORY, [FIRST])
        connection.execute(update(evaluations).values(created_at=MONTHS[0]))
        judge(connection, group, (FIRST, SECOND), heads={FIRST: "d" * 40})
        full = {table: count(connection, table) for table in TABLES}
    assert 0 not in full.values()
    keep(aged, doorbell, keep_evaluations_days=30)  # the issue was judged today
    with transaction(aged) as connection:
        assert {table: count(connection, table) for table in TABLES} == full
        connection.execute(update(evaluations).values(created_at=MONTHS[0]))
    keep(aged, doorbell, keep_evaluations_days=30)
    with transaction(aged) as connection:
        assert {table: count(connection, table) for table in TABLES} == dict.fromkeys(TABLES, 0)


TABLES = (evaluations, evaluation_candidates, candidates, patches, outcome_events, outcomes)
