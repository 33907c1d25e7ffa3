"""What agents did for an issue, and what of it is judged."""

import pytest
from sqlalchemy import text

from app.db.store import alternatives, attempts, evaluations, proposals
from app.db.store.attempts import Place, Record
from app.db.store.candidates import Candidate
from app.db.store.evaluations import NewEvaluation
from model.domain import EngineInfo, Issue, Tokens
from tests.app.db.store import world

pytestmark = pytest.mark.services


def keep(connection, group, base, words, **more):
    record = Record(
        agent="mini-se",
        engine=EngineInfo("scripted", "m", ""),
        seed=attempts.next_seed(connection, group),
        stop=attempts.TAKEN_BACK,
        steps=1,
        tokens=Tokens(),
        seconds=1.0,
        **more,
    )
    place = Place(world.REPOSITORY, group, base, Issue("Crash", words))
    number = attempts.next_number(connection, group) if record.patch else None
    return attempts.save(connection, place, record, number)


def test_every_attempt_of_the_day_counts_whatever_it_was_made_for(connection, group):
    first = keep(connection, group, world.BASE, "On empty")
    keep(connection, group, "c" * 40, "On empty")
    keep(connection, group, world.BASE, "Edited")
    assert proposals.made_today(connection, group) == 3
    yesterday = "update attempts set created_at = created_at - interval '1 day' where id = :id"
    connection.execute(text(yesterday), {"id": first})
    assert proposals.made_today(connection, group) == 2
    assert proposals.made_today(connection, group + 1) == 0


@pytest.mark.parametrize(("pulls", "ours"), [([], [1, 2, 3, 4]), ([world.LATE], [2, 3, 4])])
def test_who_was_replaced_leaves_where_seats_are_short(connection, group, pulls, ours):
    first = keep(connection, group, world.BASE, "On empty", patch="diff 1")
    for number in (2, 3):
        keep(connection, group, world.BASE, "On empty", patch=f"diff {number}")
    issue = attempts.issue_sha256(Issue("Crash", "On empty"))
    there = alternatives.there(connection, group, [world.BASE], issue)
    theirs = tuple(Candidate(n, world.head_of(n), world.BASE, "diff", 1) for n in pulls)
    new = NewEvaluation(
        group, "issue", "advisory", 2, "Crash", "On empty", theirs, alternatives=there
    )
    identity = evaluations.create(connection, world.REPOSITORY, new).id
    keep(connection, group, world.BASE, "On empty", patch="diff 4", guided_by=first)
    more = alternatives.there(connection, group, [world.BASE], issue)[3:]
    proposals.finish(connection, evaluations.load(connection, identity), more, None)
    judged = evaluations.load(connection, identity)
    assert [one.number for one in judged.alternatives] == ours
