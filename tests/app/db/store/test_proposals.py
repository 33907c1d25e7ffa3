"""What agents did for an issue today, whatever its text and its commits were."""

import pytest
from sqlalchemy import text

from app.db.store import attempts, proposals
from app.db.store.attempts import Place, Record
from model.domain import EngineInfo, Issue, Tokens
from tests.app.db.store import world

pytestmark = pytest.mark.services


def keep(connection, group, base, words):
    record = Record(
        agent="mini-se",
        engine=EngineInfo("scripted", "m", ""),
        seed=attempts.next_seed(connection, group),
        stop=attempts.TAKEN_BACK,
        steps=1,
        tokens=Tokens(),
        seconds=1.0,
    )
    place = Place(world.REPOSITORY, group, base, Issue("Crash", words))
    return attempts.save(connection, place, record)


def test_every_attempt_of_the_day_counts_whatever_it_was_made_for(connection, group):
    first = keep(connection, group, world.BASE, "On empty")
    keep(connection, group, "c" * 40, "On empty")
    keep(connection, group, world.BASE, "Edited")
    assert proposals.made_today(connection, group) == 3
    yesterday = "update attempts set created_at = created_at - interval '1 day' where id = :id"
    connection.execute(text(yesterday), {"id": first})
    assert proposals.made_today(connection, group) == 2
    assert proposals.made_today(connection, group + 1) == 0
