"""Attempts are kept with their price; which of them count, and what they come to."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from app.db.session import transaction
from app.db.store.alternatives import attempts
from app.db.store.alternatives.attempts import Place, Record
from app.db.store.issues import evaluation_alternatives
from app.db.tables.schema import agent_runs
from app.policy.alternative_policy import Spent, WhyNot
from app.values.identifiers import AlternativeNumber, CommitSha
from model.agents.trajectories.trajectory import Stop
from model.domain import EngineInfo, Issue, Tokens
from tests.builders.stored_verdict import BASE, REPOSITORY, settle

pytestmark = pytest.mark.services

ISSUE = Issue("Crash", "On empty")
ENGINE = EngineInfo("scripted", "script", "0" * 12)


@pytest.fixture
def connection(database):
    with transaction(database) as connection:
        yield connection


@pytest.fixture
def place(connection):
    return Place(REPOSITORY, settle(connection), BASE, ISSUE)


def record(stop=Stop.SUBMITTED, patch="diff --git a/a b/a\n", **more):
    tokens = Tokens(100, 40, 10)
    return Record("mini-se", ENGINE, 0, stop, 3, tokens, 2.5, patch, **more)


def there(connection, place, **other):
    where = {"bases": [place.base], "issue_sha256": place.issue_sha256} | other
    return [one.id for one in evaluation_alternatives.there(connection, place.group, **where)]


def test_what_was_written_belongs_to_one_text_and_one_commit(connection, place):
    attempts.save(connection, place, record(), AlternativeNumber(1))
    attempts.save(connection, place, record())
    assert there(connection, place) == ["A1"]
    assert there(connection, place, bases=[CommitSha("c" * 40)]) == []
    edited = attempts.issue_sha256(Issue("Crash", "On empty lists"))
    assert there(connection, place, issue_sha256=edited) == []


def test_numbers_and_seeds_are_used_once(connection, place):
    assert attempts.next_number(connection, place.group) == 1
    assert attempts.next_seed(connection, place.group) == 0
    attempts.save(connection, place, record(), AlternativeNumber(1))
    attempts.save(connection, place, record(Stop.ROUNDS, None))
    assert attempts.next_number(connection, place.group) == 2
    assert attempts.next_seed(connection, place.group) == 1


@pytest.mark.parametrize(
    ("stop", "counts"),
    [
        (Stop.SUBMITTED, 1),
        (Stop.ROUNDS, 1),
        (Stop.MALFORMED, 1),
        (Stop.ENGINE, 0),
        (attempts.CRASHED, 0),
        (attempts.OVER_BUDGET, 0),
        (attempts.TAKEN_BACK, 0),
    ],
)
def test_an_agent_is_not_blamed_for_others(connection, place, stop, counts):
    attempts.save(connection, place, record(stop, None))
    assert attempts.tried(connection, place.group, [BASE], place.issue_sha256) == counts
    assert attempts.tried(connection, place.group, [BASE], "0") == 0


def test_a_day_is_counted_from_midnight(connection, place):
    assert attempts.spent(connection, REPOSITORY) == Spent()
    runs = [attempts.begin_run(connection, REPOSITORY, Spent(500, 60.0)) for _ in range(3)]
    assert attempts.spent(connection, REPOSITORY) == Spent()
    assert attempts.spent(connection, REPOSITORY, at_work=True) == Spent(1_500, 180.0)
    for run in runs:
        attempts.end_run(connection, run, Spent(70, 2.5))
    assert attempts.spent(connection, REPOSITORY) == Spent(3 * 70, 7.5)
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    connection.execute(update(agent_runs).values(created_at=midnight - timedelta(seconds=1)))
    assert attempts.spent(connection, REPOSITORY) == Spent()


@pytest.mark.parametrize(
    ("stop", "number", "why"),
    [
        (Stop.SUBMITTED, 1, None),
        (Stop.SUBMITTED, None, WhyNot.SAME),
        (Stop.TIMEOUT, None, WhyNot.TIMEOUT),
        (attempts.CRASHED, None, WhyNot.CRASHED),
        (attempts.OVER_BUDGET, None, WhyNot.BUDGET),
        (attempts.QUOTES_HINT, None, WhyNot.QUOTES_HINT),
    ],
)
def test_the_newest_attempt_says_what_failed(connection, place, stop, number, why):
    assert attempts.last_failure(connection, place.group) is None
    attempts.save(connection, place, record(stop), number)
    attempts.save(connection, place, record(attempts.TAKEN_BACK, None))
    assert attempts.last_failure(connection, place.group) is why


@pytest.mark.parametrize("tokens", [Tokens(-1, -1, 5), Tokens(10, 11, 0), Tokens(10, 0, -1)])
def test_impossible_figures_are_not_stored(connection, place, tokens):
    with pytest.raises(IntegrityError, match="ck_attempts_figures"):
        attempts.save(connection, place, replace(record(patch=None), tokens=tokens))


def test_a_bill_below_nothing_is_not_stored(connection, place):
    with pytest.raises(IntegrityError, match="ck_agent_runs_figures"):
        attempts.begin_run(connection, REPOSITORY, Spent(-1, 0.0))
