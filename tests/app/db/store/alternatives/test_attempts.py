"""Attempts are kept with their price; which of them count, and what they come to."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from app.db.store.alternatives import attempts
from app.db.store.alternatives.attempts import Place
from app.db.store.issues import evaluation_alternatives
from app.db.tables.schema import agent_runs
from app.policy.alternative_policy import Cost, RefusalReason
from app.values.identifiers import AlternativeNumber, CommitSha
from model.agents.trajectories.trajectory import StopReason
from model.domain import Issue, Tokens
from tests.builders.history.stored_verdict import BASE, REPOSITORY, build_attempt, settle

pytestmark = pytest.mark.services

ISSUE = Issue("Crash", "On empty")


@pytest.fixture
def place(connection):
    return Place(REPOSITORY, settle(connection), BASE, ISSUE)


def record(stop=StopReason.SUBMITTED, patch="diff --git a/a b/a\n", **more):
    return build_attempt(stop=stop, patch=patch, tokens=Tokens(100, 40, 10), **more)


def list_alternatives(connection, place, **overrides):
    where = {"bases": [place.base], "issue_sha256": place.issue_sha256} | overrides
    listed = evaluation_alternatives.list_of_group(connection, place.group, **where)
    return [alternative.id for alternative in listed]


def test_an_alternative_belongs_to_an_issue_text_and_a_commit(connection, place):
    attempts.save(connection, place, record(), AlternativeNumber(1))
    attempts.save(connection, place, record())
    assert list_alternatives(connection, place) == ["A1"]
    assert list_alternatives(connection, place, bases=[CommitSha("c" * 40)]) == []
    edited = attempts.hash_issue(Issue("Crash", "On empty lists"))
    assert list_alternatives(connection, place, issue_sha256=edited) == []


def test_numbers_and_seeds_are_used_once(connection, place):
    assert attempts.next_number(connection, place.group) == 1
    assert attempts.next_seed(connection, place.group) == 0
    attempts.save(connection, place, record(), AlternativeNumber(1))
    attempts.save(connection, place, record(StopReason.ROUNDS, None))
    assert attempts.next_number(connection, place.group) == 2
    assert attempts.next_seed(connection, place.group) == 1


@pytest.mark.parametrize(
    ("stop", "counts"),
    [
        (StopReason.SUBMITTED, 1),
        (StopReason.ROUNDS, 1),
        (StopReason.MALFORMED, 1),
        (StopReason.ENGINE, 0),
        (attempts.CRASHED, 0),
        (attempts.OVER_BUDGET, 0),
        (attempts.TAKEN_BACK, 0),
    ],
)
def test_an_agent_is_not_blamed_for_others(connection, place, stop, counts):
    attempts.save(connection, place, record(stop, None))
    assert attempts.count_tried(connection, place.group, [BASE], place.issue_sha256) == counts
    assert attempts.count_tried(connection, place.group, [BASE], "0") == 0


def test_a_day_is_counted_from_midnight(connection, place):
    assert attempts.sum_cost(connection, REPOSITORY) == Cost()
    runs = [attempts.begin_run(connection, REPOSITORY, Cost(500, 60.0)) for _ in range(3)]
    assert attempts.sum_cost(connection, REPOSITORY) == Cost()
    assert attempts.sum_cost(connection, REPOSITORY, include_running=True) == Cost(1_500, 180.0)
    for run in runs:
        attempts.end_run(connection, run, Cost(70, 2.5))
    assert attempts.sum_cost(connection, REPOSITORY) == Cost(3 * 70, 7.5)
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    connection.execute(update(agent_runs).values(created_at=midnight - timedelta(seconds=1)))
    assert attempts.sum_cost(connection, REPOSITORY) == Cost()


@pytest.mark.parametrize(
    ("stop", "number", "why"),
    [
        (StopReason.SUBMITTED, 1, None),
        (StopReason.SUBMITTED, None, RefusalReason.SAME),
        (StopReason.TIMEOUT, None, RefusalReason.TIMEOUT),
        (attempts.CRASHED, None, RefusalReason.CRASHED),
        (attempts.OVER_BUDGET, None, RefusalReason.BUDGET),
        (attempts.QUOTES_HINT, None, RefusalReason.QUOTES_HINT),
    ],
)
def test_the_newest_attempt_says_what_failed(connection, place, stop, number, why):
    assert attempts.find_last_failure(connection, place.group) is None
    attempts.save(connection, place, record(stop), number)
    attempts.save(connection, place, record(attempts.TAKEN_BACK, None))
    assert attempts.find_last_failure(connection, place.group) is why


@pytest.mark.parametrize("tokens", [Tokens(-1, -1, 5), Tokens(10, 11, 0), Tokens(10, 0, -1)])
def test_impossible_figures_are_not_stored(connection, place, tokens):
    with pytest.raises(IntegrityError, match="ck_attempts_figures"):
        attempts.save(connection, place, replace(record(patch=None), tokens=tokens))


def test_a_bill_below_nothing_is_not_stored(connection, place):
    with pytest.raises(IntegrityError, match="ck_agent_runs_figures"):
        attempts.begin_run(connection, REPOSITORY, Cost(-1, 0.0))
