"""Trained models and the moves of their aliases, on a real database."""

from pathlib import Path

import pytest
from sqlalchemy import select

from app.db.store import models
from app.db.store.models import NewModel, UnknownModel
from app.db.tables import evaluations, shadow_verdicts
from app.serving import Adapter, Alias, LineUp, State

pytestmark = pytest.mark.services
FIRST, SECOND, THIRD = (f"r4p-20261122-{number:08x}" for number in range(3))


def adapter(name):
    run = Path("/runs") / name
    return Adapter(name, "base", run / "adapter", "0" * 64, "r4p", run / models.PROBE)


@pytest.fixture
def registered(connection):
    for name in (FIRST, SECOND, THIRD):
        new = NewModel(adapter(name), Path("/runs") / name, State.CANDIDATE, "passed", {"n": 1})
        assert models.register(connection, new) == name
    return connection


def states(connection):
    return {one.adapter.name: one.state.value for one in models.newest(connection)}


def test_a_name_is_kept_once_and_for_ever(registered):
    again = NewModel(adapter(FIRST), Path("/elsewhere"), State.REJECTED, "other", {})
    models.register(registered, again)
    kept = models.named(registered, FIRST)
    assert (kept.adapter, kept.state, kept.gate) == (adapter(FIRST), State.CANDIDATE, {"n": 1})
    assert [one.adapter.name for one in models.newest(registered)] == [THIRD, SECOND, FIRST]


def test_an_unknown_name_is_answered_with_those_that_there_are(registered):
    with pytest.raises(UnknownModel, match=f"'r4p-0'; there are {THIRD}, {SECOND}, {FIRST}$"):
        models.promote(registered, "r4p-0", Alias.CHAMPION, "why")


def test_without_any_model_that_is_said(connection):
    assert models.line_up(connection) == LineUp()
    with pytest.raises(UnknownModel, match="there are none yet"):
        models.named(connection, FIRST)


def test_a_model_goes_from_shadow_to_canary_to_champion(registered):
    models.promote(registered, FIRST, Alias.SHADOW, "to be seen")
    assert models.line_up(registered) == LineUp(shadow=adapter(FIRST))
    models.promote(registered, FIRST, Alias.CANARY, "was right", 0.1)
    assert models.line_up(registered) == LineUp(canary=adapter(FIRST), share=0.1)
    models.promote(registered, FIRST, Alias.CHAMPION, "still right")
    assert models.line_up(registered) == LineUp(adapter(FIRST))
    assert models.named(registered, FIRST).share is None
    assert [(one.alias.value, one.model) for one in models.moves(registered)] == [
        ("champion", FIRST),
        ("canary", None),
        ("canary", FIRST),
        ("shadow", None),
        ("shadow", FIRST),
    ]


def test_who_is_replaced_retires_or_waits_again(registered):
    models.promote(registered, FIRST, Alias.CHAMPION, "first")
    models.promote(registered, SECOND, Alias.CHAMPION, "better")
    assert states(registered) == {FIRST: "retired", SECOND: "champion", THIRD: "candidate"}
    models.promote(registered, FIRST, Alias.CANARY, "once more", 0.1)
    models.promote(registered, THIRD, Alias.CANARY, "newer", 0.1)
    assert states(registered) == {FIRST: "candidate", SECOND: "champion", THIRD: "canary"}


def test_a_rollback_goes_to_the_last_champion_that_was_not_rejected(registered):
    for name in (FIRST, SECOND, THIRD):
        models.promote(registered, name, Alias.CHAMPION, "better")
    models.reject(registered, SECOND, "found out later")
    back = models.withdraw(registered, Alias.CHAMPION, "worse")
    assert back.adapter.name == FIRST
    assert states(registered) == {FIRST: "champion", SECOND: "rejected", THIRD: "rejected"}
    assert models.named(registered, THIRD).why == "worse"


def test_behind_the_first_champion_stands_the_model_of_the_settings(registered):
    models.promote(registered, FIRST, Alias.CHAMPION, "better")
    assert models.withdraw(registered, Alias.CHAMPION, "worse") is None
    assert models.line_up(registered) == LineUp()
    assert models.withdraw(registered, Alias.CHAMPION, "again") is None


def test_a_champion_comes_back_out_of_the_canary(registered):
    models.promote(registered, FIRST, Alias.CHAMPION, "first")
    models.promote(registered, SECOND, Alias.CHAMPION, "better")
    models.promote(registered, FIRST, Alias.CANARY, "once more", 0.2)
    models.withdraw(registered, Alias.CHAMPION, "worse")
    assert models.line_up(registered) == LineUp(adapter(FIRST))


def test_a_canary_is_withdrawn_and_the_champion_stays(registered):
    models.promote(registered, FIRST, Alias.CHAMPION, "first")
    models.promote(registered, SECOND, Alias.CANARY, "new", 0.5)
    assert models.withdraw(registered, Alias.CANARY, "unreadable votes") is None
    assert models.line_up(registered) == LineUp(adapter(FIRST))
    assert states(registered)[SECOND] == "rejected"


def test_what_a_shadow_says_is_kept_beside_the_verdict(registered, group):
    evaluation = registered.scalar(select(evaluations.c.id).limit(1))
    for verdict in ({"n": 1}, {"n": 2}):
        models.save_shadow(registered, evaluation, FIRST, verdict)
    assert registered.scalars(select(shadow_verdicts.c.verdict)).all() == [{"n": 2}]
