"""What agents did for an issue, and what of it is judged."""

import pytest
from sqlalchemy import text

from app.db.store.alternatives import attempts, proposals
from app.db.store.alternatives.attempts import Place
from app.db.store.issues import evaluation_alternatives, evaluations
from app.db.store.issues.evaluations import NewEvaluation
from model.domain import Issue
from tests.builders.history import stored_verdict

pytestmark = pytest.mark.services


def keep(connection, group, base, words, **more):
    seed = attempts.next_seed(connection, group)
    record = stored_verdict.build_attempt(seed=seed, stop=attempts.TAKEN_BACK, **more)
    place = Place(stored_verdict.REPOSITORY, group, base, Issue("Crash", words))
    number = attempts.next_number(connection, group) if record.patch else None
    return attempts.save(connection, place, record, number)


def test_every_attempt_of_the_day_counts_whatever_it_was_made_for(connection, group):
    first = keep(connection, group, stored_verdict.BASE, "On empty")
    keep(connection, group, "c" * 40, "On empty")
    keep(connection, group, stored_verdict.BASE, "Edited")
    assert proposals.count_today(connection, group) == 3
    yesterday = "update attempts set created_at = created_at - interval '1 day' where id = :id"
    connection.execute(text(yesterday), {"id": first})
    assert proposals.count_today(connection, group) == 2
    assert proposals.count_today(connection, group + 1) == 0


@pytest.mark.parametrize(
    ("pulls", "alternatives"), [([], [1, 2, 3, 4]), ([stored_verdict.LATE], [2, 3, 4])]
)
def test_a_replaced_alternative_leaves_where_seats_are_short(
    connection, group, pulls, alternatives
):
    first = keep(connection, group, stored_verdict.BASE, "On empty", patch="diff 1")
    for number in (2, 3):
        keep(connection, group, stored_verdict.BASE, "On empty", patch=f"diff {number}")
    issue = attempts.hash_issue(Issue("Crash", "On empty"))
    there = evaluation_alternatives.list_of_group(connection, group, [stored_verdict.BASE], issue)
    theirs = tuple(stored_verdict.build_candidate(pull) for pull in pulls)
    new = NewEvaluation(
        group, "issue", "advisory", 2, "Crash", "On empty", theirs, alternatives=there
    )
    identity = evaluations.create(connection, stored_verdict.REPOSITORY, new).id
    keep(connection, group, stored_verdict.BASE, "On empty", patch="diff 4", guided_by=first)
    more = evaluation_alternatives.list_of_group(connection, group, [stored_verdict.BASE], issue)[
        3:
    ]
    proposals.finish(connection, evaluations.load(connection, identity), more, None)
    judged = evaluations.load(connection, identity)
    assert [one.number for one in judged.alternatives] == alternatives
